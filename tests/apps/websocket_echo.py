# SPDX-License-Identifier: BSD-2-Clause
"""A WebSocket server that sends each message back: websocket_echo.py PORT."""
import asyncio
import sys

import websockets


async def echo(connection):
    async for message in connection:
        await connection.send(message)


async def main():
    async with websockets.serve(echo, "127.0.0.1", int(sys.argv[1]), subprotocols=["chat"], max_size=1 << 22):
        await asyncio.Future()


asyncio.run(main())

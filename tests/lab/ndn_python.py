# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_python.py ADDRESS PORT - python-ndn as a client; the lab (ndn.py) runs it with the interpreter that has it.

Reads lines of JSON, {"get": NAME, ...} or {"ask": NAME, ...}, and for each says a line of JSON, {"length", "name", "seconds", "interests", "error"}, and so many bytes of
content.  Each has a connection of its own, which does not count.
"""
import asyncio
import json
import os
import sys
import time

from ndn.app import NDNApp
from ndn.app_support.segment_fetcher import segment_fetcher
from ndn.encoding import Component, Name
from ndn.security import DigestSha256Signer, HmacSha256Signer, KeychainDigest
from ndn.transport.stream_face import TcpFace
from ndn.types import InterestCanceled, InterestNack, InterestTimeout, ValidationFailure
from ndn.utils import gen_nonce_64, timestamp


class Counted(TcpFace):
    """How many packets it sends is how many Interests."""

    def __init__(self, host, port):
        super().__init__(host, port)
        self.sent = 0

    def send(self, data):
        self.sent += 1
        super().send(data)


class Fresh(HmacSha256Signer):
    """By itself it says neither when nor with what nonce it signed, so that who hears it again could not tell."""

    def write_signature_info(self, signature_info):
        super().write_signature_info(signature_info)
        signature_info.signature_time = timestamp()
        signature_info.signature_nonce = gen_nonce_64()


async def discovered(app, name, how, lifetime):
    """The name of the segments."""
    if how == "metadata":
        _, _, content = await app.express_interest([*name, Component.from_str("32=metadata")], can_be_prefix=True, must_be_fresh=True, lifetime=lifetime)
        return Name.from_bytes(content)
    if how == "prefix":
        found, _, _ = await app.express_interest(name, can_be_prefix=True, must_be_fresh=True, lifetime=lifetime)
        return found[:-1]
    return name


async def get(app, what, answer):
    name = await discovered(app, Name.from_str(what["get"]), what["discover"], what["lifetime"])
    answer["name"] = Name.to_str(name)
    pieces = [bytes(piece or b"") async for piece in segment_fetcher(app, name, timeout=what["lifetime"], must_be_fresh=False)]
    return b"".join(pieces)


async def ask(app, what, answer):
    options = {}
    if what["params"] is not None:
        key = what["key"] and bytes.fromhex(what["key"])
        options = {"app_param": bytes.fromhex(what["params"]), "signer": Fresh(what["key_name"], key) if key else DigestSha256Signer(for_interest=True)}
    name, meta, content = await app.express_interest(Name.from_str(what["ask"]), can_be_prefix=what["prefix"], must_be_fresh=what["fresh"],
                                                     lifetime=what["lifetime"], **options)
    answer.update(name=Name.to_str(name), kind=meta.content_type, freshness=meta.freshness_period, final=meta.final_block_id and Component.to_str(meta.final_block_id))
    return bytes(content or b"")


async def done(address, port, what):
    """(answer, content)"""
    face = Counted(address, port)
    app = NDNApp(face=face, keychain=KeychainDigest())
    answer, content = {}, b""

    async def work():
        nonlocal content
        began = time.monotonic()
        try:
            content = await (get if "get" in what else ask)(app, what, answer)
            answer.update(seconds=time.monotonic() - began, interests=face.sent)
        except InterestNack as e:
            answer["error"] = f"nack {e.reason}"
        except (InterestTimeout, InterestCanceled, ValidationFailure) as e:
            answer["error"] = {InterestTimeout: "timeout", InterestCanceled: "canceled", ValidationFailure: "not valid"}[type(e)]
        finally:
            app.shutdown()
    try:
        await app.main_loop(work())
    except OSError as e:
        answer["error"] = str(e)
    return answer, content


def main(address, port):
    for line in sys.stdin:
        answer, content = asyncio.run(done(address, int(port), json.loads(line)))
        out = json.dumps({**answer, "length": len(content)}).encode() + b"\n" + content
        while out:
            out = out[os.write(1, out):]


main(*sys.argv[1:])

# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_face.py - who speaks named data by hand: over a connection, packet by packet (ndn_wire.py).

    with Face.tcp("10.5.0.1", 6363, host=path.clients) as face:
        face.send(interest("/site/a", fresh=True))
        packet = face.receive(seconds=1)        # None: nothing came in that time

    with Producer(6363, answer, host=path.server) as producer:      # answer(packet): packets to send, or None
        forwarder.route("/site", producer.uri)

A Face is also what a forwarder is for a server that connects to it: Listener.accept() gives one.  A connection that the other side has ended raises Closed.
"""
import select
import socket
import threading
import time

from . import ndn_wire as wire


class Closed(ConnectionError):
    """The other side has ended the connection."""


def open_socket(make, host):
    return host.inside(make) if host else make()


class Face:
    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""

    @classmethod
    def tcp(cls, address, port, host=None):
        connection = open_socket(lambda: socket.create_connection((address, port), 10), host)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(connection)

    @classmethod
    def unix(cls, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        return cls(connection)

    def send(self, *packets):
        try:
            self.connection.sendall(b"".join(packets))
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed from e

    def whole(self):
        """The first packet of the buffer, which it leaves; None if more must come.  What can't be a packet raises Malformed."""
        try:
            kind, at = wire.read_number(self.buffer, 0)
            length, at = wire.read_number(self.buffer, at)
        except wire.Malformed:
            if len(self.buffer) >= 18:
                raise
            return None
        if at + length > wire.LARGEST:
            raise wire.Malformed(f"an element of type {kind} and {length} octets begins")
        if at + length > len(self.buffer):
            return None
        found, self.buffer = self.buffer[:at + length], self.buffer[at + length:]
        return found

    def receive_wire(self, seconds=4):
        end = time.monotonic() + seconds
        while (found := self.whole()) is None:
            if not select.select([self.connection], [], [], max(0, end - time.monotonic()))[0]:
                return None
            try:
                more = self.connection.recv(1 << 18)
            except ConnectionResetError as e:
                raise Closed from e
            if not more:
                raise Closed
            self.buffer += more
        return found

    def receive(self, seconds=4):
        """The next Packet; None if none comes in time."""
        found = self.receive_wire(seconds)
        return None if found is None else wire.read(found)

    def ask(self, of, seconds=4, **options):
        """Sends an Interest; the next Packet, or None."""
        self.send(wire.interest(of, **options))
        return self.receive(seconds)

    def register(self, prefix, seconds=4):
        """Asks the forwarder behind it for all Interests of this prefix; the status of its answer, 200 if it does.  The forwarder believes local connections only."""
        parameters = wire.tlv(0x68, wire.name_tlv(prefix))
        answer = self.ask((*wire.name("/localhost/nfd/rib/register"), (wire.GENERIC, parameters)), seconds, fresh=True, sign=wire.Digest())
        if answer is None:
            return None
        return wire.read_integer({kind: value for kind, value, _, _ in wire.elements(wire.only(answer.content, 0x65))}[0x66])

    def closed(self, seconds=4):
        """The other side ends the connection within that time; what it sends until then is not looked at."""
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self.receive_wire(end - time.monotonic())
        except Closed:
            return True
        return False

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Listener:
    def __init__(self, port, host=None, address=None):
        self.address, self.port = address or (host.address if host else "127.0.0.1"), port
        self.socket = open_socket(lambda: socket.create_server((self.address, port), backlog=128), host)

    @property
    def uri(self):
        return f"tcp4://{self.address}:{self.port}"

    def accept(self, seconds=4):
        """The next Face; None if nobody comes in time."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        connection = self.socket.accept()[0]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Face(connection)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Producer:
    """Answers the Interests of whoever connects, until it is closed.  seen: the Packets that came, in their order; failed: what went wrong."""

    def __init__(self, port, answer, host=None, listener=None):
        self.answer = answer
        self.seen, self.failed, self.faces, self.threads = [], [], [], []
        self.ending = False
        self.listener = listener or Listener(port, host)
        self.uri = self.listener.uri
        self.begin(self.take)

    def begin(self, work, *args):
        self.threads.append(threading.Thread(target=work, args=args, daemon=True))
        self.threads[-1].start()

    def take(self):
        while not self.ending:
            if face := self.listener.accept(0.1):
                self.faces.append(face)
                self.begin(self.serve, face)

    def serve(self, face):
        try:
            while not self.ending:
                packet = face.receive(0.1)
                if packet is None or packet.kind != wire.INTEREST:
                    continue
                self.seen.append(packet)
                if answer := self.answer(packet):
                    face.send(answer)
        except Closed:
            pass
        except Exception as e:      # pylint: disable=broad-except      # the test is to hear of it
            self.failed.append(e)
        finally:
            face.close()
            self.faces.remove(face)

    def asked(self, under="/"):
        """How many Interests of this prefix came."""
        prefix = wire.name(under)
        return sum(p.name[:len(prefix)] == prefix for p in self.seen)

    def close(self):
        self.ending = True
        for t in self.threads:
            t.join(10)
        self.listener.close()
        if self.failed:
            raise self.failed[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def serving(packets):
    """What a Producer answers that has these packets, {value of the name: packet} as ndn_wire.published() gives them; of those below a prefix the first."""
    def answer(packet):
        wanted = wire.name_value(packet.name)
        found = packets.get(wanted) or packet.prefix and next((p for name, p in packets.items() if name.startswith(wanted)), None)
        return found and wire.lp(found, token=packet.token)
    return answer

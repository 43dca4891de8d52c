# SPDX-License-Identifier: BSD-2-Clause
"""A producer that answers as a server of ours does, and a network that does to its packets what a test asks for.

    pages = Pages().add("/example/a", b"...")
    with Producer(pages.answer) as p:
        run("--forwarder", p.uri, "/example/a")

`answer` is a function of an Interest that returns packets, and `way` one of all packets that answer what came at one time: what it returns is sent.
Nothing waits for time: answers are sent when no more Interests are there to be read.
"""
import select
import socket

from lab import lab, ndn_face
from lab import ndn_wire as wire
from lab.ndn_seal import SEAL, Server

WINDOW, STATUS, MEDIA_TYPE, LOCATION, ENCODING = 0xf520, 0xf522, 0xf524, 0xf526, 0xf528


def data(of, content=b"", *, last=None, kind=None, window=None, status=None, media_type=None, location=None, encoding=None, seal=None, sign=wire.Digest()):
    """A Data packet with what ours say of a page."""
    said = ((WINDOW, window), (STATUS, status), (MEDIA_TYPE, media_type), (LOCATION, location and location.encode()), (ENCODING, encoding), (SEAL, seal))
    return wire.data(of, content, kind=kind, freshness=1000, final=None if last is None else wire.segment(last), sign=sign,
                     extra=b"".join(wire.tlv(k, v) for k, v in said if v is not None))


def segment_of(packet):
    """Which one an Interest asks for; None: it is for a page."""
    kind, value = packet.name[-1]
    return wire.read_integer(value) if kind == wire.SEGMENT else None


class Page:
    """An object, cut into segments; `first`: what its first Data says besides."""

    def __init__(self, page, body, size=1000, version=1, **first):
        self.name, self.version, self.first = wire.name(page), wire.version(version), first
        self.cut = [body[i:i + size] for i in range(0, len(body), size)] or [b""]

    @property
    def last(self):
        return len(self.cut) - 1

    def under(self, components, segment, **said):
        """The Data of that segment, under a name to which version and segment are added."""
        said = {"kind": self.first.get("kind"), **(self.first if segment == 0 else {}), **said}
        return data((*components, self.version, wire.segment(segment)), self.cut[segment], last=self.last, **said)


class Sealed:
    """A page for who sent that Interest; a segment under the Interest's name, or under that of the result, is the same."""

    def __init__(self, page, interest):
        self.server, self.first = Server(interest), {k: v for k, v in page.first.items() if k != "kind"}
        self.version, self.last = page.version, page.last
        self.name = (*page.name, (wire.KEYWORD, b"result"), (wire.GENERIC, interest.name[-1][1].hex().encode()))
        window = self.first.pop("window", None)
        self.said = {"window": window, "seal": self.server.key}
        head = self.server.head(self.first.get("status"), self.first.get("media_type"), (self.first.get("location") or "").encode() or None, self.first.get("encoding"))
        self.cut = [self.server.seal((*self.name, self.version), n, self.last, (b"" if n else head) + piece) for n, piece in enumerate(page.cut)]

    def under(self, components, segment, **said):
        said = {**(self.said if segment == 0 else {}), **said}
        return data((*components, self.version, wire.segment(segment)), self.cut[segment], last=self.last, **said)


class Pages:
    """What answers as ours do; `said`: what each Data says or is signed with."""

    def __init__(self, **said):
        self.pages, self.private, self.asked, self.said = {}, {}, [], said

    def add(self, page, body, **how):
        self.pages[wire.name(page)] = Page(page, body, **how)
        return self

    def answer(self, packet):
        self.asked.append(packet)
        segment = segment_of(packet)
        if packet.params is not None:
            page = self.pages.get(packet.name[:-1])
            if not page:
                return []
            sealed = Sealed(page, packet)
            self.private[sealed.name] = sealed
            return [sealed.under(packet.name, 0, **self.said)]
        if packet.prefix and packet.name in self.pages:
            return [self.pages[packet.name].under(packet.name, 0, **self.said)]
        page = self.pages.get(packet.name[:-2]) or self.private.get(packet.name[:-2])
        if segment is None or not page:
            return []
        if packet.name[-2] != page.version:
            return [data(packet.name, b"gone", kind=3, status=410)]
        return [page.under(packet.name[:-2], segment, **self.said)] if segment <= page.last else []

    def segments(self):
        """Those that were asked for by an exact name."""
        return [s for s in map(segment_of, self.asked) if s is not None]


class UnixListener:
    def __init__(self, path):
        self.uri = f"unix://{path}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()

    def accept(self, seconds):
        return ndn_face.Face(self.socket.accept()[0]) if select.select([self.socket], [], [], seconds)[0] else None

    def close(self):
        self.socket.close()


class Producer(ndn_face.Producer):
    """On 127.0.0.1, or at a path.  A packet None closes the connection.  What is asked for must be right: a Nonce, and parameters under their digest."""

    def __init__(self, answer, way=lambda packets: packets, path=None):
        self.way, self.met = way, 0
        super().__init__(None, answer, listener=UnixListener(path) if path else ndn_face.Listener(lab.free_port()))

    def serve(self, face):
        self.met += 1
        try:
            packets = []
            while not self.ending:
                packet = face.receive(0 if packets else 0.1)
                if packet:
                    assert packet.kind == wire.INTEREST and len(packet.nonce) == 4 and packet.params_match()
                    packets += self.answer(packet)
                elif packets:
                    sent = self.way(packets)
                    face.send(*[p for p in sent if p is not None])
                    if None in sent:
                        break
                    packets = []
        except ndn_face.Closed:
            pass
        except Exception as e:      # pylint: disable=broad-except      # the test is to hear of it
            self.failed.append(e)
        finally:
            face.close()

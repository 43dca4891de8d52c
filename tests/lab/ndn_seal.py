# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_seal.py - pages that only who asked for them can read, as ndn/ndn_seal.h has them, by another library: who asks, and who answers.

    caller = Caller()
    packet = face.ask(name, prefix=True, params=b"Cookie: a\n" + caller.line + nonce_line)
    caller.open(packet)         # the first segment: head and content; Unsealed if it is not for this caller
    caller.open(another)        # one that follows: its content

    server = Server(wire.read(interest))
    server.key, server.seal(page, segment, last, text)
"""
import dataclasses
import re

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from . import ndn_wire as wire

STATUS, MEDIA_TYPE, LOCATION, ENCODING, SEAL, HEAD = 0xf522, 0xf524, 0xf526, 0xf528, 0xf52a, 0xf52c
TAG = 16


class Unsealed(ValueError):
    """It is not sealed, or not for who wants to open it."""


def public(private):
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def secret(ours, theirs, caller, server, digest):
    shared = ours.exchange(X25519PublicKey.from_public_bytes(theirs))
    return AESGCM(HKDF(hashes.SHA256(), 32, digest, b"fairgate sealed page 1" + caller + server).derive(shared))


def beside(page, last):
    return wire.name_value((*page, wire.segment(last)))


def nonce(segment):
    return segment.to_bytes(12, "big")


def result_of(components):
    """The object whose segment has that name: what was asked for with parameters stands for the one that its segments are of."""
    *page, digest, version, _ = components
    if digest[0] == wire.PARAMS_DIGEST:
        return (*page, (wire.KEYWORD, b"result"), (wire.GENERIC, digest[1].hex().encode()), version)
    return tuple(components[:-1])


@dataclasses.dataclass
class Head:
    status: int
    media_type: bytes
    location: bytes
    encoding: bytes


class Caller:
    def __init__(self):
        self.private = X25519PrivateKey.generate()
        self.key, self.cipher, self.head = public(self.private), None, None

    @property
    def line(self):
        return b"Ccn-Key: %s\n" % self.key.hex().encode()

    def open(self, packet):
        """The content; of a first segment that says a key also self.head."""
        segment, page = wire.read_integer(packet.name[-1][1]), result_of(packet.name)
        first = SEAL in packet.meta
        if first:
            digest = bytes.fromhex(page[-2][1].decode())
            self.cipher = secret(self.private, packet.meta[SEAL], self.key, packet.meta[SEAL], digest)
        if not self.cipher:
            raise Unsealed("no key was told")
        try:
            text = self.cipher.decrypt(nonce(segment), packet.content, beside(page, wire.read_integer(packet.final[1])))
        except InvalidTag as e:
            raise Unsealed("another key, or another segment") from e
        if not first:
            return text
        _, at = wire.read_number(text, 0)
        length, at = wire.read_number(text, at)
        end = at + length
        said = {k: v for k, v, _, _ in wire.elements(wire.only(text[:end], HEAD))}
        self.head = Head(wire.read_integer(said[STATUS]), said.get(MEDIA_TYPE), said.get(LOCATION), said.get(ENCODING))
        return text[end:]


class Server:
    def __init__(self, interest):
        """Of an Interest whose parameters hold a caller's key."""
        caller = bytes.fromhex(re.search(rb"(?m)^Ccn-Key: ([0-9a-f]{64})$", interest.params)[1].decode())
        private = X25519PrivateKey.generate()
        self.key = public(private)
        self.cipher = secret(private, caller, caller, self.key, interest.name[-1][1])

    def seal(self, page, segment, last, text):
        return self.cipher.encrypt(nonce(segment), text, beside(page, last))

    @staticmethod
    def head(status=None, media_type=None, location=None, encoding=None):
        return wire.tlv(HEAD, *(wire.tlv(k, v) for k, v in ((STATUS, status), (MEDIA_TYPE, media_type), (LOCATION, location), (ENCODING, encoding)) if v is not None))

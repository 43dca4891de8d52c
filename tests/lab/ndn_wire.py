# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_wire.py - packets of named data (NDN packet format 0.3, NDNLPv2), made and taken apart for tests that look at every byte.

    wire = interest("/site/a", prefix=True, fresh=True, lifetime=1000)
    wire = interest("/site/a", params=b"x", sign=Hmac(b"secret", "/key"))
    wire = data("/site/a/v=5/seg=0", b"text", freshness=1000, final=segment(0))
    wire = lp(wire, token=b"abcdef")
    packet = read(wire)         # a Packet; Malformed if it is none
    packet.name, packet.token, packet.content

A name is a URI, or a tuple of components, each of which is (type, value).  What is made here may be wrong on purpose: extra=bytes stands where it is put, and what
hostile tests need beyond that tlv() makes.  What is read must be right: shortest numbers, elements in their order, nothing behind the end.
"""
import dataclasses
import hashlib
import hmac
import os
import re
import time

INTEREST, DATA, NAME, LP = 5, 6, 7, 100
IMPLICIT_DIGEST, PARAMS_DIGEST, GENERIC, KEYWORD, SEGMENT, BYTE_OFFSET, VERSION, TIMESTAMP, SEQUENCE = 1, 2, 8, 32, 50, 52, 54, 56, 58
CAN_BE_PREFIX, MUST_BE_FRESH, FORWARDING_HINT, NONCE, LIFETIME, HOP_LIMIT, PARAMS, INTEREST_INFO, INTEREST_VALUE = 33, 18, 30, 10, 12, 34, 36, 44, 46
META_INFO, CONTENT, SIGNATURE_INFO, SIGNATURE_VALUE = 20, 21, 22, 23
CONTENT_TYPE, FRESHNESS, FINAL_BLOCK = 24, 25, 26
SIGNATURE_TYPE, KEY_LOCATOR, SIGNATURE_NONCE, SIGNATURE_TIME, SIGNATURE_SEQUENCE, VALIDITY_PERIOD = 27, 28, 38, 40, 42, 253
FRAGMENT, PIT_TOKEN, NACK, NACK_REASON, CONGESTION_MARK = 80, 98, 800, 801, 832
DIGEST_SHA256, HMAC_SHA256 = 0, 4
NO_ROUTE, DUPLICATE, CONGESTION = 150, 100, 50
LARGEST = 8800

NUMBERS = {"seg": SEGMENT, "off": BYTE_OFFSET, "v": VERSION, "t": TIMESTAMP, "seq": SEQUENCE}
DIGESTS = {"sha256digest": IMPLICIT_DIGEST, "params-sha256": PARAMS_DIGEST}
INTEREST_ORDER = (NAME, CAN_BE_PREFIX, MUST_BE_FRESH, FORWARDING_HINT, NONCE, LIFETIME, HOP_LIMIT, PARAMS, INTEREST_INFO, INTEREST_VALUE)
SIGNATURE_ORDER = (SIGNATURE_TYPE, KEY_LOCATOR, SIGNATURE_NONCE, SIGNATURE_TIME, SIGNATURE_SEQUENCE, VALIDITY_PERIOD)
DATA_ORDER = (NAME, META_INFO, CONTENT, SIGNATURE_INFO, SIGNATURE_VALUE)


class Malformed(ValueError):
    """What was read is no packet; the text says why."""


# ---- elements ------------------------------------------------------------------------------------------------------------------------

def number(n):
    """A type or a length, in the shortest form."""
    for limit, mark, octets in ((253, b"", 1), (1 << 16, b"\xfd", 2), (1 << 32, b"\xfe", 4)):
        if n < limit:
            return mark + n.to_bytes(octets, "big")
    return b"\xff" + n.to_bytes(8, "big")


def integer(n):
    """The value of an element that is a number."""
    return n.to_bytes(next(octets for octets in (1, 2, 4, 8) if n < 1 << 8 * octets), "big")


def tlv(kind, *values):
    """An element; a value that is an int stands for its octets."""
    value = b"".join(integer(v) if isinstance(v, int) else v for v in values)
    return number(kind) + number(len(value)) + value


def read_number(wire, at):
    """(the number, where it ends); Malformed where it does not end in time or could be shorter."""
    if at >= len(wire):
        raise Malformed("a number is missing")
    octets = {253: 2, 254: 4, 255: 8}.get(wire[at])
    if octets is None:
        return wire[at], at + 1
    end = at + 1 + octets
    if end > len(wire):
        raise Malformed("a number is cut off")
    n = int.from_bytes(wire[at + 1:end], "big")
    if number(n) != wire[at:end]:
        raise Malformed(f"{n} has a shorter form")
    return n, end


def read_integer(value):
    if len(value) not in (1, 2, 4, 8):
        raise Malformed(f"a number of {len(value)} octets")
    return int.from_bytes(value, "big")


def elements(wire):
    """[(type, value, where it begins, where it ends)]"""
    found, at = [], 0
    while at < len(wire):
        kind, begin = read_number(wire, at)
        length, begin = read_number(wire, begin)
        if kind == 0 or begin + length > len(wire):
            raise Malformed(f"element {kind} of {length} octets, of which {len(wire) - begin} are there")
        found.append((kind, wire[begin:begin + length], at, begin + length))
        at = begin + length
    return found


def only(wire, kind):
    """The value of the one element of this type that wire is."""
    found = elements(wire)
    if len(found) != 1 or found[0][0] != kind:
        raise Malformed(f"elements {[e[0] for e in found]} where one of type {kind} should be")
    return found[0][1]


def critical(kind):
    return kind < 32 or kind % 2 == 1


def recognised(value, order):
    """{type: (value, begin, end)} of those in `order`; what is not known is passed over unless it is critical."""
    found, place = {}, 0
    for kind, inner, begin, end in elements(value):
        if kind in order[place:]:
            place = order.index(kind) + 1
            found[kind] = (inner, begin, end)
        elif critical(kind):
            raise Malformed(f"element {kind} is critical, and unknown or out of order")
    return found


# ---- names ---------------------------------------------------------------------------------------------------------------------------

def segment(n):
    return (SEGMENT, integer(n))


def version(n):
    return (VERSION, integer(n))


def name(uri):
    """Components of a URI: /a/b, /a/32=metadata, /a/v=5/seg=0, /a/params-sha256=HEX."""
    if not isinstance(uri, str):
        return tuple(uri)
    found = []
    for text in uri.removeprefix("ndn:").strip("/").split("/") if uri.strip("/") else ():
        key, sign, value = text.partition("=")
        if sign and key in NUMBERS:
            found.append((NUMBERS[key], integer(int(value))))
        elif sign and key in DIGESTS:
            found.append((DIGESTS[key], bytes.fromhex(value)))
        else:
            kind, value = (int(key), value) if sign and key.isdigit() else (GENERIC, text)
            value = value[3:] if re.fullmatch(r"\.{3,}", value) else value
            found.append((kind, re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), value.encode())))
    return tuple(found)


def uri(components):
    """The same the other way round."""
    numbers, digests = ({v: k for k, v in table.items()} for table in (NUMBERS, DIGESTS))
    texts = []
    for kind, value in name(components):
        if kind in numbers and len(value) in (1, 2, 4, 8):
            texts.append(f"{numbers[kind]}={int.from_bytes(value, 'big')}")
        elif kind in digests:
            texts.append(f"{digests[kind]}={value.hex()}")
        else:
            text = "".join(chr(b) if re.match(rb"[A-Za-z0-9._~-]", bytes([b])) else f"%{b:02X}" for b in value)
            texts.append(("" if kind == GENERIC else f"{kind}=") + ("..." + text if not text.strip(".") else text))
    return "/" + "/".join(texts)


def components_of(value):
    return tuple((kind, inner) for kind, inner, _, _ in elements(value))


def name_value(components):
    return b"".join(tlv(kind, value) for kind, value in name(components))


def name_tlv(components):
    return tlv(NAME, name_value(components))


# ---- signatures ----------------------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Digest:
    """A signature that anybody can make: a checksum."""
    kind = DIGEST_SHA256

    def locator(self):
        return b""

    def sign(self, *covered):
        return hashlib.sha256(b"".join(covered)).digest()


@dataclasses.dataclass
class Hmac:
    key: bytes
    key_name: str = "/key"
    kind = HMAC_SHA256

    def locator(self):
        return tlv(KEY_LOCATOR, name_tlv(self.key_name))

    def sign(self, *covered):
        return hmac.digest(self.key, b"".join(covered), "sha256")


# ---- packets that are made -----------------------------------------------------------------------------------------------------------

RANDOM = object()       # another one each time


def interest(of, *, prefix=False, fresh=False, nonce=RANDOM, lifetime=None, hops=None, hint=(), params=None, sign=None, sign_nonce=RANDOM, sign_time=RANDOM,
             sign_sequence=None, digest=None, extra=b""):
    """sign: who signs it, Digest() or Hmac(...), in the format of 2021; milliseconds in sign_time.  digest: in the place of the right one of the parameters."""
    components = name(of)
    options = (tlv(CAN_BE_PREFIX) if prefix else b"") + (tlv(MUST_BE_FRESH) if fresh else b"")
    if hint:
        options += tlv(FORWARDING_HINT, *(name_tlv(h) for h in hint))
    if nonce is not None:
        options += tlv(NONCE, os.urandom(4) if nonce is RANDOM else nonce)
    if lifetime is not None:
        options += tlv(LIFETIME, lifetime)
    if hops is not None:
        options += tlv(HOP_LIMIT, bytes([hops]))
    rest = b""
    if params is not None or sign:
        rest = tlv(PARAMS, params or b"")
        if sign:
            info = tlv(SIGNATURE_TYPE, sign.kind) + sign.locator()
            if sign_nonce is not None:
                info += tlv(SIGNATURE_NONCE, os.urandom(8) if sign_nonce is RANDOM else sign_nonce)
            if sign_time is not None:
                info += tlv(SIGNATURE_TIME, time.time_ns() // 1_000_000 if sign_time is RANDOM else sign_time)
            if sign_sequence is not None:
                info += tlv(SIGNATURE_SEQUENCE, sign_sequence)
            rest += tlv(INTEREST_INFO, info)
            rest += tlv(INTEREST_VALUE, sign.sign(name_value(c for c in components if c[0] != PARAMS_DIGEST), rest))
        components += ((PARAMS_DIGEST, hashlib.sha256(rest).digest() if digest is None else digest),)
    return tlv(INTEREST, name_tlv(components), options, extra, rest)


def data(of, content=b"", *, kind=None, freshness=None, final=None, extra=b"", sign=Digest()):
    """final: the component of the last segment; extra: elements at the end of MetaInfo."""
    meta = (tlv(CONTENT_TYPE, kind) if kind is not None else b"") + (tlv(FRESHNESS, freshness) if freshness is not None else b"")
    meta += (tlv(FINAL_BLOCK, tlv(*final)) if final else b"") + extra
    covered = name_tlv(of) + (tlv(META_INFO, meta) if meta else b"") + tlv(CONTENT, content)
    covered += tlv(SIGNATURE_INFO, tlv(SIGNATURE_TYPE, sign.kind), sign.locator())
    return tlv(DATA, covered, tlv(SIGNATURE_VALUE, sign.sign(covered)))


def lp(fragment=None, *, token=None, nack=None, mark=None, extra=b""):
    """nack: its reason; extra: other fields, in front of the fragment."""
    fields = tlv(PIT_TOKEN, token) if token is not None else b""
    if nack is not None:
        fields += tlv(NACK, tlv(NACK_REASON, nack))
    if mark is not None:
        fields += tlv(CONGESTION_MARK, mark)
    return tlv(LP, fields, extra, tlv(FRAGMENT, fragment) if fragment is not None else b"")


def published(of, content, *, size=4096, stamp=None, freshness=1000, sign=Digest()):
    """{value of the name: packet} of an object: its segments, under a version, and its metadata (RDR)."""
    base = name(of)
    stamp = time.time_ns() // 1000 if stamp is None else stamp
    versioned = (*base, version(stamp))
    pieces = [content[at:at + size] for at in range(0, len(content), size)] or [b""]
    last = segment(len(pieces) - 1)
    packets = {name_value((*versioned, segment(n))): data((*versioned, segment(n)), piece, freshness=freshness, final=last, sign=sign)
               for n, piece in enumerate(pieces)}
    meta = (*base, (KEYWORD, b"metadata"), version(stamp), segment(0))
    packets[name_value(meta)] = data(meta, name_tlv(versioned), freshness=10, final=segment(0), sign=sign)
    return packets


# ---- packets that are read -----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Packet:
    """kind: INTEREST, DATA, or None for one without a fragment.  fields: {type: value} of its elements; meta: of its MetaInfo."""
    kind: int = None
    name: tuple = ()
    fields: dict = dataclasses.field(default_factory=dict)
    meta: dict = dataclasses.field(default_factory=dict)
    wire: bytes = b""           # of the Interest or Data itself
    wrapped: bool = False       # it came in an LpPacket
    token: bytes = None
    nack: int = None
    mark: int = None
    covered: bytes = b""        # what its signature covers

    @property
    def uri(self):
        return uri(self.name)

    @property
    def prefix(self):
        return CAN_BE_PREFIX in self.fields

    @property
    def fresh(self):
        return MUST_BE_FRESH in self.fields

    @property
    def nonce(self):
        return self.fields.get(NONCE)

    @property
    def lifetime(self):
        return read_integer(self.fields[LIFETIME]) if LIFETIME in self.fields else 4000

    @property
    def params(self):
        return self.fields.get(PARAMS)

    @property
    def content(self):
        return self.fields.get(CONTENT, b"")

    @property
    def content_type(self):
        return read_integer(self.meta.get(CONTENT_TYPE, b"\0"))

    @property
    def freshness(self):
        return read_integer(self.meta.get(FRESHNESS, b"\0"))

    @property
    def final(self):
        """The component of the last segment."""
        return components_of(self.meta[FINAL_BLOCK])[0] if FINAL_BLOCK in self.meta else None

    @property
    def signature_type(self):
        return read_integer(self.signature[SIGNATURE_TYPE]) if self.signature else None

    @property
    def signature(self):
        """{type: value} of what is said about it; empty: there is none."""
        info = self.fields.get(SIGNATURE_INFO, self.fields.get(INTEREST_INFO))
        return {} if info is None else {kind: value for kind, (value, _, _) in recognised(info, SIGNATURE_ORDER).items()}

    def signed_by(self, who):
        """The signature is the one that `who` would make."""
        value = self.fields.get(SIGNATURE_VALUE, self.fields.get(INTEREST_VALUE))
        return self.signature_type == who.kind and value == who.sign(self.covered)

    def params_match(self):
        """The name holds the one right digest of the parameters, or neither is there."""
        digests = [value for kind, value in self.name if kind == PARAMS_DIGEST]
        if PARAMS not in self.fields:
            return not digests
        rest = b"".join(tlv(kind, self.fields[kind]) for kind in (PARAMS, INTEREST_INFO, INTEREST_VALUE) if kind in self.fields)
        return digests == [hashlib.sha256(rest).digest()]


def read(wire):
    """The packet that wire is, with what it came wrapped in."""
    packet = Packet()
    if len(wire) > LARGEST:
        raise Malformed(f"{len(wire)} octets")
    outer, _ = read_number(wire, 0)
    if outer == LP:
        packet.wrapped = True
        fields = {kind: value for kind, value, _, _ in elements(only(wire, LP))}
        packet.token = fields.get(PIT_TOKEN)
        if NACK in fields:
            packet.nack = read_integer(only(fields[NACK], NACK_REASON)) if fields[NACK] else 0
        if CONGESTION_MARK in fields:
            packet.mark = read_integer(fields[CONGESTION_MARK])
        if FRAGMENT not in fields:
            return packet
        wire = fields[FRAGMENT]
        outer, _ = read_number(wire, 0)
    if outer not in (INTEREST, DATA):
        raise Malformed(f"a packet of type {outer}")
    value = only(wire, outer)
    found = recognised(value, INTEREST_ORDER if outer == INTEREST else DATA_ORDER)
    if NAME not in found:
        raise Malformed("a packet without a name")
    packet.kind, packet.wire = outer, wire
    packet.fields = {kind: v for kind, (v, _, _) in found.items()}
    packet.name = components_of(packet.fields[NAME])
    if META_INFO in found:
        packet.meta = {kind: v for kind, v, _, _ in elements(packet.fields[META_INFO])}
    if SIGNATURE_INFO in found:
        packet.covered = value[found[NAME][1]:found[SIGNATURE_INFO][2]]
    elif INTEREST_INFO in found:
        packet.covered = name_value(c for c in packet.name if c[0] != PARAMS_DIGEST) + value[found[PARAMS][1]:found[INTEREST_INFO][2]]
    return packet

# SPDX-License-Identifier: BSD-2-Clause
"""A site that speaks named data, packet by packet, on a connection of our own."""
import contextlib
import os
import re
import socket as sockets
import subprocess
import threading
import time

import pytest

from lab.ccn import Site, made, octets, site
from lab import lab
from lab import ndn_wire as wire
from lab.httpd import Httpd, sanitizer_environment
from lab.lab import module, wait_for
from lab.ndn_face import Closed, Face
from lab.ndn_seal import ENCODING, LOCATION, MEDIA_TYPE, SEAL, STATUS, Caller, result_of

NAME = "/example/site"
# What a program says of its length later ones of httpd leave out unless they are told to believe it.
SPEAK = """AddEncoding x-gzip .gz
SetEnv ap_trust_cgilike_cl 1
<Location /page.cgi/filtered>
Options +Includes
SetOutputFilter INCLUDES
</Location>"""


@pytest.fixture(scope="module", params=("event", "worker", "prefork"))
def served(request):
    with lab.kept_lab("ccn", lambda: request.session.testsfailed > 0) as made_lab, \
            site(made_lab, mpm=request.param, children=3, privacy="open", speak=SPEAK, modules=("include",),
                 files={"big": octets(100000), "deep/a b/c": b"deep\n", "small.txt.gz": b"as it is"},
                 access_log="%r %>s %{ccn-name}n %{ccn-class}n %{ccn-joined}n") as s:
        yield s


@pytest.fixture
def face(served):
    with Face.tcp("127.0.0.1", served.ndn_port) as f:
        yield f


def page(face, name, **options):
    return face.ask(name, prefix=True, fresh=True, **options)


def last_of(packet):
    return int.from_bytes(packet.final[1], "big")


def test_a_page_and_its_segments(face, served):
    first = page(face, NAME + "/big")
    assert [kind for kind, _ in first.name[-2:]] == [wire.VERSION, wire.SEGMENT]
    assert last_of(first) == 24 and first.signed_by(wire.Digest())
    body = first.content
    for n in range(1, 25):
        more = face.ask(first.name[:-1] + (wire.segment(n),))
        assert more.name == first.name[:-1] + (wire.segment(n),) and more.final == first.final
        body += more.content
    assert body == octets(100000)
    assert face.ask(first.name[:-1] + (wire.segment(25),), seconds=0.3) is None      # nothing is there, and nothing is said


def test_the_token_comes_back(face):
    face.send(wire.lp(wire.interest(NAME + "/index.html", prefix=True), token=b"\x01\x02\x03\x04\x05\x06"))
    got = face.receive()
    assert got.token == b"\x01\x02\x03\x04\x05\x06" and got.content == b"hello\n"


def about(packet):
    """{type: value} of all that MetaInfo holds."""
    return {kind: value for kind, value, _, _ in wire.elements(packet.fields[wire.META_INFO])}


def test_status_type_and_window_stand_in_the_first(face):
    assert wire.read_integer(about(page(face, NAME + "/big"))[0xF520]) == 24      # all that remain
    ours = about(page(face, NAME + "/index.html"))
    assert wire.read_integer(ours[0xF522]) == 200 and ours[0xF524] == b"text/html" and 0xF520 not in ours


@pytest.mark.parametrize("name, encoding, content", (
    ("/small.txt.gz", b"x-gzip", b"as it is"), ("/page.cgi%3Fn=8&more=Content-Encoding:+br", b"br", made(8)),
    ("/page.cgi%3Fn=8&more=Content-Encoding:+" + "e" * 64, b"e" * 64, made(8)), ("/page.cgi%3Fn=8&more=Content-Encoding:+" + "e" * 65, None, made(8)),
    ("/index.html", None, b"hello\n")))
def test_how_the_bytes_are_encoded(face, name, encoding, content):
    """The first segment says it, the metadata do, and what is sealed; the bytes are as they are."""
    got, meta = page(face, NAME + name), face.ask(f"{NAME}{name}/32=metadata", prefix=True, fresh=True)
    said = {kind: value for kind, value, _, _ in wire.elements(meta.content)}
    assert about(got).get(ENCODING) == about(meta).get(ENCODING) == said.get(ENCODING) == encoding and got.content == content
    caller = Caller()
    got = ask_private(face, NAME + name, "", caller=caller)
    assert ENCODING not in about(got) and caller.open(got) == content and caller.head.encoding == encoding


def test_of_many_segments_the_first_says_how_they_are_encoded(face):
    first = page(face, NAME + "/page.cgi%3Fn=9000&more=Content-Encoding:+br")
    assert about(first)[ENCODING] == b"br" and ENCODING not in about(face.ask(first.name[:-1] + (wire.segment(1),)))


@pytest.mark.parametrize("name, content", (
    (NAME, b"hello\n"), (NAME + "/", b"hello\n"), (NAME + "/index.html", b"hello\n"), (NAME + "/deep/a%20b/c", b"deep\n"),
    (NAME + "/page.cgi%3Fn=5", made(5))))
def test_names_and_urls(face, name, content):
    assert page(face, name).content == content


@pytest.mark.parametrize("name", (
    "/other/site/a", "/example", NAME + "/..../index.html", NAME + "/deep/...../index.html", NAME + "/deep%2Fa b%2Fc", NAME + "/seg=0", NAME + "/32=other",
    NAME + "/t=5", NAME + "/a%00b"))
def test_nothing_else_is_reachable(face, name):
    got = page(face, name)
    assert got.content_type == 3, got.content


def test_metadata_name_a_version_that_is_kept(face):
    got = page(face, NAME + "/big/32=metadata")
    versioned = next(value for kind, value, _, _ in wire.elements(got.content) if kind == wire.NAME)
    name = wire.components_of(versioned)
    assert face.ask(tuple(name) + (wire.segment(24),)).content == octets(100000)[24 * 4096:]


def test_an_exact_name(face):
    got = face.ask(NAME + "/index.html")
    assert got.name == wire.name(NAME + "/index.html") and got.content == b"hello\n"
    got = face.ask(NAME + "/big")
    assert got.name == wire.name(NAME + "/big") and got.content_type == 3


def test_equal_interests_are_made_once(served):
    """They join while it is in work; each has its answer."""
    before = served.status()
    faces = [Face.tcp("127.0.0.1", served.ndn_port) for _ in range(1)]
    for _ in range(20):
        faces[0].send(wire.interest(NAME + "/page.cgi%3Fn=10&wait=0.5", prefix=True, fresh=True))
    names = {faces[0].receive().name for _ in range(20)}
    after = served.status()
    assert len(names) == 1 and after["pages"] - before["pages"] == 1 and after["joined"] - before["joined"] == 19
    faces[0].close()


def test_an_interest_that_is_too_late_costs_nothing(served, face):
    """The lifetime of what waits behind slow pages is over before its turn comes."""
    for n in range(64):
        face.send(wire.interest(f"{NAME}/page.cgi%3Fn=1&wait=0.3&late={n}", prefix=True, fresh=True, lifetime=250))
    before = served.status()
    wait_for(lambda: served.status()["expired"] > 30 and served.status()["queued"] == 0 and served.status()["outstanding"] == 0, 20, "all over")
    assert served.status()["pages"] - before["pages"] < 40


def test_what_is_no_packet_ends_the_connection(served):
    with Face.tcp("127.0.0.1", served.ndn_port) as f:
        f.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert f.closed()


def test_a_malformed_interest_is_passed_over(face):
    face.send(wire.tlv(wire.INTEREST, wire.tlv(wire.NAME)))
    assert page(face, NAME + "/index.html").content == b"hello\n"


def test_the_log_says_who_asked_for_what(served, face):
    page(face, NAME + "/deep/a%20b/c")
    assert wait_for(lambda: [line for line in served.access_log() if line.startswith("GET /deep/a%20b/c HTTP/1.1 200 /example/site/deep/a%20b/c ")], 5, "a line of the log")


# ---- private pages ---------------------------------------------------------------------------------------------------------------------

def ask_private(face, name, fields, nonce="0123456789abcdef0123456789abcdef", caller=None, prefix=True, **options):
    params = f"{fields}Ccn-Nonce: {nonce}\n".encode() + (caller.line if caller else b"")
    return face.ask(name, prefix=prefix, fresh=True, params=params, **options)


@pytest.mark.parametrize("more", ("Set-Cookie:+a=b", "Cache-Control:+private", "Cache-Control:+max-age=5,+no-store"))
def test_what_is_private_has_no_plain_name(face, more):
    got = page(face, f"{NAME}/page.cgi%3Fn=5&more={more}")
    assert got.content_type == 3 and made(5) not in got.content


def test_who_asks_with_parameters_gets_what_is_private(face):
    name = f"{NAME}/page.cgi%3Fn=9000&more=Set-Cookie:+a=b&field=HTTP_COOKIE"
    got = ask_private(face, name, "Cookie: session=one\n")
    assert got.content_type == 0 and got.content.startswith(b"session=one\n")
    digest = got.name[-3][1]
    result = wire.name(name) + ((wire.KEYWORD, b"result"), (wire.GENERIC, digest.hex().encode())) + (got.name[-2],)
    body = got.content + b"".join(face.ask(result + (wire.segment(n),)).content for n in range(1, last_of(got) + 1))
    assert body == b"session=one\n" + made(9000)
    assert got.freshness in (None, 0)


@pytest.mark.parametrize("privacy, sealed", ((None, True), ("sealed", True), ("off", False)))
def test_who_gets_pages_for_one_visitor(privacy, sealed):
    """By default who sends a key, for whom they are sealed; and nobody else."""
    with lab.kept_lab("ccn", lambda: False) as made_lab, site(made_lab, privacy=privacy) as s, Face.tcp("127.0.0.1", s.ndn_port) as f:
        name = f"{NAME}/page.cgi%3Fn=9&more=Set-Cookie:+a=b&field=HTTP_COOKIE"
        got = ask_private(f, name, "Cookie: session=one\n")
        assert got.content_type == 3 and b"CcnPrivate" in got.content and wire.read_integer(about(got)[STATUS]) == 403
        assert (b"Ccn-Key" in got.content) == sealed
        caller = Caller()
        got = ask_private(f, name, "Cookie: session=one\n", caller=caller)
        if not sealed:
            assert got.content_type == 3 and b"CcnPrivate" in got.content
            return
        assert b"session" not in got.wire and caller.open(got) == b"session=one\n" + made(9) and caller.head.status == 200


def test_a_sealed_page(face):
    """All of it, to the last byte; nothing of it, and nothing of what HTTP says of it, is in any packet."""
    caller, name = Caller(), f"{NAME}/page.cgi%3Fn=9000&more=Set-Cookie:+a=b&field=HTTP_COOKIE"
    first = ask_private(face, name, "Cookie: session=one\n", caller=caller)
    packets = [first, *(face.ask(result_of(first.name) + (wire.segment(n),)) for n in range(last_of(first) + 1))]
    assert last_of(first) == 2 and packets[1].content == first.content
    assert caller.open(first) + b"".join(caller.open(p) for p in packets[2:]) == b"session=one\n" + made(9000)
    assert caller.head.status == 200 and caller.head.media_type.startswith(b"text/plain")
    for p in packets:
        assert b"line of a page" not in p.wire and b"session" not in p.wire and b"text/plain" not in p.wire
        assert not {STATUS, MEDIA_TYPE, LOCATION, ENCODING} & set(about(p)) and p.freshness == 0
    other = ask_private(face, name, "Cookie: session=one\n", caller=Caller())
    assert about(other)[SEAL] != about(first)[SEAL] and other.content != first.content


@pytest.mark.parametrize("where, status", (("/none", 404), ("/deep", 301)))
def test_a_sealed_page_does_not_say_how_it_went(face, where, status):
    caller = Caller()
    got = ask_private(face, NAME + where, "", caller=caller)
    assert got.content_type == 0 and not {STATUS, MEDIA_TYPE, LOCATION} & set(about(got)) and b"deep/" not in got.wire
    assert caller.open(got) and caller.head.status == status
    assert status != 301 or caller.head.location == b"ndn:" + NAME.encode() + b"/deep/..."


def test_a_sealed_page_has_a_version(face):
    got = ask_private(face, NAME + "/index.html", "", caller=Caller(), prefix=False)
    assert got.content_type == 3 and b"CanBePrefix" in got.content and b"hello" not in got.content


@pytest.mark.parametrize("key", ("", "00", "0" * 63, "0" * 65, "g" * 64))
def test_a_key_that_is_none(face, key):
    got = ask_private(face, NAME + "/index.html", f"Ccn-Key: {key}\n")
    assert got.content_type == 3 and b"Ccn-Key" in got.content and b"hello" not in got.content


@pytest.mark.parametrize("key", ("00" * 32, "ed" + "ff" * 30 + "7f"))
def test_a_key_without_a_secret(face, served, key):
    """With a key of small order anybody would know the secret: it is the caller's fault, and no page is made for him."""
    before = served.status()["pages"]
    got = ask_private(face, NAME + "/index.html", f"Ccn-Key: {key}\n")
    assert got.content_type == 3 and wire.read_integer(about(got)[STATUS]) == 400 and b"Ccn-Key" in got.content and b"hello" not in got.content
    assert served.status()["pages"] == before


def test_a_page_of_nothing(face):
    got = page(face, NAME + "/page.cgi")
    assert got.content == b"" and got.content_type == 0


def test_parameters_need_a_nonce(face):
    got = face.ask(NAME + "/index.html", prefix=True, params=b"Cookie: a=b\n")
    assert got.content_type == 3 and b"nonce" in got.content


@pytest.mark.parametrize("fields", ("Host: other\n", "X-Forwarded-For: 1.2.3.4\n", "Range: bytes=0-1\n", "Cookie a\n", "Cookie: a\x01b\n"))
def test_only_some_fields_may_be_sent(face, fields):
    got = ask_private(face, NAME + "/index.html", fields)
    assert got.content_type == 3 and b"hello" not in got.content


# ---- over a unix socket ---------------------------------------------------------------------------------------------------------------

def test_a_client_of_this_machine(tmp_path_factory):
    """What a server left that was killed is in nobody's way, what another one has is."""
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        socket = made_lab.dir + "/ndn.sock"
        options = dict(speak=f"CcnListen unix:{socket}\n<Location /deep>\nRequire local\n</Location>", modules=("authz_host",), files={"deep/a": b"deep\n"})
        with site(made_lab, **options) as s:
            with Face.unix(socket) as f:
                assert page(f, NAME + "/index.html").content == b"hello\n"
                # Behind whoever connects from this machine may be the clients of a whole network.
                assert b"deep" not in page(f, NAME + "/deep/a").content
            with Face.tcp("127.0.0.1", s.ndn_port) as f:
                assert b"deep" not in page(f, NAME + "/deep/a").content
            s.graceful()
            with Face.unix(socket) as f:
                assert page(f, NAME + "/index.html").content == b"hello\n"
            with pytest.raises(lab.LabError, match="another server listens there"), site(made_lab, **options):
                pass
            s.process.kill()
            wait_for(lambda: not s.alive(), 10, "its end")
            s.stop()
        with site(made_lab, **options), Face.unix(socket) as f:
            assert page(f, NAME + "/index.html").content == b"hello\n"


SWAP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
/* Another user of the directory puts a link in the place of a socket as soon as that is there. */
int bind(int fd, const struct sockaddr *a, socklen_t n) {
    int rc = ((int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind"))(fd, a, n);
    const char *path = ((const struct sockaddr_un *)a)->sun_path;
    if (rc || a->sa_family != AF_UNIX || strcmp(path, getenv("SWAP_SOCKET"))) return rc;
    return unlink(path) || symlink(getenv("SWAP_FILE"), path);
}
"""


def test_file_that_is_linked_in_the_place_of_a_listening_socket_keeps_its_mode():
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        socket, secret, swap = (os.path.join(made_lab.dir, name) for name in ("ndn.sock", "secret", "swap.so"))
        with open(secret, "w", encoding="ascii"):
            os.chmod(secret, 0o600)
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", swap, "-ldl"], input=SWAP, text=True, check=True)
        s = Site(made_lab, speak=f"CcnListen unix:{socket}\n")
        preloaded = (s.extra_environment or {}).get("LD_PRELOAD", "")
        s.extra_environment = {**(s.extra_environment or {}), "LD_PRELOAD": f"{preloaded} {swap}".strip(), "SWAP_SOCKET": socket, "SWAP_FILE": secret}
        with s.start():
            assert os.path.islink(socket) and os.stat(secret).st_mode & 0o777 == 0o600
            s.stop()


def test_socket_for_clients_of_this_machine_admits_every_user():
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        socket = made_lab.dir + "/ndn.sock"
        with site(made_lab, speak=f"CcnListen unix:{socket}\n"):
            assert os.stat(socket).st_mode & 0o777 == 0o666


def test_private_wherever_it_stands(served):
    """In a second line of the same field, or added by mod_headers behind the page's own."""
    with lab.kept_lab("ccn", lambda: False) as made_lab, \
            site(made_lab, speak="<Location /page.cgi>\nHeader always set Cache-Control private\n</Location>") as s, Face.tcp("127.0.0.1", s.ndn_port) as f:
        got = page(f, f"{NAME}/page.cgi%3Fn=5&more=Cache-Control:+max-age=60")
        assert got.content_type == 3 and made(5) not in got.content


@contextlib.contextmanager
def in_front_of(answer):
    """Asks a site whose page /back is what a backend answers, who closes the connection behind it."""
    with sockets.create_server(("127.0.0.1", 0)) as backend, lab.kept_lab("ccn", lambda: False) as made_lab:
        def serve():
            for _ in range(2):
                c, _ = backend.accept()
                c.recv(65536)
                c.sendall(answer)
                c.close()
        threading.Thread(target=serve, daemon=True).start()
        with site(made_lab, speak=f"ProxyPass /back http://127.0.0.1:{backend.getsockname()[1]}/") as s, Face.tcp("127.0.0.1", s.ndn_port) as f:
            yield f


def test_a_page_that_breaks_off_is_none():
    """A backend that goes away in the middle of an answer."""
    with in_front_of(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100000\r\n\r\n" + b"x" * 9000) as f:
        got = page(f, f"{NAME}/back")
        assert got.content_type == 3 and got.freshness == 0 and b"xxx" not in got.content


def test_a_status_without_a_page_is_not_cut():
    """What it says of a length is another answer's."""
    with in_front_of(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100000\r\n\r\n") as f:
        got = page(f, f"{NAME}/back")
        assert wire.read_integer(about(got)[STATUS]) == 304 and got.content == b""


def length_of(promised, where=""):
    """A page that comes in many pieces, 50,000 bytes of it, with what its header says."""
    return f"{where}%3Fn=50000&more=Content-Length:+{promised}"


def test_a_page_that_is_cut_is_none(face, served):
    """It promises more than comes."""
    name = f"{NAME}/page.cgi" + length_of(100000)
    got = page(face, name)
    assert wire.read_integer(about(got)[STATUS]) == 502 and got.content_type == 3 and got.freshness == 0 and got.content == b"" and last_of(got) == 0
    caller = Caller()
    assert caller.open(ask_private(face, name, "", caller=caller)) == b"" and caller.head.status == 502
    assert wait_for(lambda: [line for line in served.access_log() if "Length:+100000 HTTP/1.1 502 " in line], 5, "a line of the log")
    assert "the page is cut: its Content-Length is 100000, and 50000 bytes came" in served.log()


@pytest.mark.parametrize("name, says", (
    ("/large", "(/large) is answered 507: it has 300000 bytes"), ("/page.cgi%3Fn%3D300000", "(/page.cgi?n=300000) is answered 507: it has more than 262144 bytes")))
def test_a_page_that_is_too_large(name, says):
    """It is said to who asks, in both logs, and what to change; one that is just small enough is there."""
    with lab.kept_lab("ccn", lambda: False) as made_lab, \
            site(made_lab, settings="CcnPages 1M", privacy="open", access_log="%U %>s", files={"large": octets(300_000), "most": octets(262_144)}) as s, \
            Face.tcp("127.0.0.1", s.ndn_port) as f:
        got = page(f, NAME + name)
        assert wire.read_integer(about(got)[STATUS]) == 507 and got.content_type == 3 and got.freshness == 0 and last_of(got) == 0
        assert b"larger than this server can keep" in got.content and about(got)[MEDIA_TYPE].startswith(b"text/plain")
        lines = [line for line in s.log().splitlines() if "a quarter of CcnPages" in line]
        assert len(lines) == 1 and f"the page {NAME}{name} {says}" in lines[0] and "may have 262144" in lines[0], lines
        assert wait_for(lambda: [line for line in s.access_log() if line.endswith(" 507")], 5, "a line of the access log")
        assert last_of(page(f, NAME + "/most")) == 63


@pytest.mark.parametrize("name", (
    length_of(50000), length_of(100), length_of("none"), length_of(-1), length_of(100000, "/filtered")))
def test_a_page_that_is_not_cut(face, name):
    """As much as was promised, more than that, no number, or a promise that a filter has taken back."""
    first = page(face, f"{NAME}/page.cgi" + name)
    body = first.content + b"".join(face.ask(first.name[:-1] + (wire.segment(n),)).content for n in range(1, last_of(first) + 1))
    assert wire.read_integer(about(first)[STATUS]) == 200 and first.content_type == 0 and body == made(50000)


def test_a_redirect_leads_to_a_name(face):
    got = page(face, NAME + "/deep")
    assert about(got)[0xF526] == b"ndn:" + NAME.encode() + b"/deep/..." and wire.read_integer(about(got)[0xF522]) == 301


def test_the_log_says_how_much_it_was():
    """Of a page that nobody has as text: its bytes, as of any other."""
    with lab.kept_lab("ccn", lambda: False) as made_lab, \
            site(made_lab, access_log="%U %B %b %O", modules=("logio",)) as s, Face.tcp("127.0.0.1", s.ndn_port) as f:
        page(f, f"{NAME}/page.cgi%3Fn=9000")
        page(f, f"{NAME}/page.cgi/empty")
        assert wait_for(lambda: "/page.cgi 9000 9000 9000" in s.access_log(), 5, "a line of the log")


PAGES, AT_ONCE = 6000, 300       # of pages for one connection


def test_names_of_addresses_are_looked_up_by_each_page():
    """What was looked up is written down beside the address; several threads make pages for one connection."""
    names = [f"{NAME}/index.html%3Fn={n}" for n in range(PAGES)]
    with lab.kept_lab("ccn", lambda: False) as made_lab, \
            site(made_lab, children=1, speak="UseCanonicalName DNS", access_log="%V") as s, Face.tcp("127.0.0.1", s.ndn_port) as f:
        for at in range(0, PAGES, AT_ONCE):
            f.send(*(wire.interest(name, prefix=True, fresh=True) for name in names[at:at + AT_ONCE]))
            assert {f.receive(20).content for _ in range(AT_ONCE)} == {b"hello\n"}
        wait_for(lambda: len(s.access_log()) == PAGES, 10, "a line for each page")
        assert len(set(s.access_log())) == 1


# ---- what is said at the start --------------------------------------------------------------------------------------------------------

HEAVY = '<classification><class id="1" name="all" quantum="300000" default="yes"/></classification>'
TWIN = "<VirtualHost *:%d>\nCcnEngine On\nCcnMap /twin /\n</VirtualHost>\n"
HTTP_HOST = "<VirtualHost %s:%%d>\nServerName http.example\n</VirtualHost>\n"
UNUSED = "CcnMap /x /\nCcnForwarder unix:///x\nCcnListen unix:/y\n"
WITHOUT = ("CcnMap without CcnEngine On", "CcnForwarder without CcnEngine On", "CcnListen without CcnEngine On")
PREFORK = ("CcnForwarder does nothing with the prefork MPM", "CcnListen does nothing with the prefork MPM")
NO_PATH = "CcnService without CcnServices PATH"
DOUBTS = {
    "map": (f"CcnMap {NAME} /other", "", "CcnMap has the prefix /example/site twice, and the first counts: not /other/"),
    "tls": ("SSLEngine On", "", "SSLEngine is on"),
    "twin": ("", TWIN, "another virtual host with CcnEngine has the same address and port"),
    "before": ("", HTTP_HOST % "*", "CcnEngine is on in vain: the virtual host {conf} has"),
    "default": ("", HTTP_HOST % "_default_", "CcnEngine is on in vain: the virtual host {conf} has"),
    "after": ("</VirtualHost>\n<VirtualHost *:{port}>", "", "CcnEngine is on, and the virtual host {conf} has"),
    "main": ("", "CcnEngine On\nCcnMap /main /", "outside of all virtual hosts"),
    "weight": ("", "CcnPolicy {policy}", "the weight 300000 of class all counts as 250000"),
    "disk": ("CcnMap /disk {lab}", "", "CcnMap /disk {lab}/: that is a directory of the disk"),
    "root": ("DocumentRoot /tmp\nCcnMap /disk /tmp", "", "CcnMap /disk /tmp/: that is a directory of the disk"),
    "no disk": ("CcnMap /home /home\nCcnMap /two /none/such", "", None),
    "none on": ("</VirtualHost>\n<VirtualHost *:2>\nCcnEngine Off\n" + UNUSED, "", WITHOUT),
    "no words": ("", UNUSED, WITHOUT),
    "no process": ("CcnForwarder unix:/x", "", None),
    "no way": ("CcnEngine Off", "CcnService /a => /x", (WITHOUT[0], "CcnService /a: nobody can call a service: CcnServices PATH is missing")),
    "no web": ("", "CcnService /b => /x\nCcnService /a => /x over=http", ("CcnService /a: nobody can call it: over=http wants CcnServices PATH", NO_PATH)),
    "no network": ("CcnEngine Off", "CcnServices /ccn\nCcnService /a => /x over=ndn", (WITHOUT[0], "CcnService /a: nobody can call it: over=ndn wants CcnEngine On")),
    "no path": ("", "CcnService /a => /x", NO_PATH),
    "path": ("CcnServices /ccn", "CcnService /a => /x over=ndn", "CcnServices does nothing beside CcnEngine On"),
    "no service": ("", "CcnServices /ccn", "CcnServices without any CcnService"),
    "services": ("", "CcnServices /ccn\nCcnService /a => /x\nCcnService /b => /x over=http\nCcnService /c => /x over=ndn", None),
    "nothing": ("", "", None),
}
SAID = {part for _, _, says in DOUBTS.values() for part in ((says,) if isinstance(says, str) else says or ())} | set(PREFORK)


def said_of(made_lab, speak, settings, mpm="event"):
    """What a check of such a site says."""
    policy = made_lab.dir + "/policy.xml"
    with open(policy, "w", encoding="utf-8") as f:
        f.write(HEAVY)
    s = Site(made_lab, modules=("ssl",), mpm=mpm)
    s.speak = speak.replace("{port}", str(s.ndn_port)).replace("{lab}", made_lab.dir)
    s.settings = settings.replace("%d", str(s.ndn_port)).replace("{policy}", policy)
    good, text = s.check()
    assert good, text
    return re.sub(re.escape(s.config_file) + r":\d+", "{conf}", text).replace(made_lab.dir + "/", "{lab}/")


@pytest.mark.parametrize("doubt", DOUBTS)
def test_what_is_doubtful_is_said_at_the_start(doubt):
    speak, settings, says = DOUBTS[doubt]
    says = (says,) if isinstance(says, str) else says or ()
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        text = said_of(made_lab, speak, settings)
    for part in SAID:
        assert (part in text) == (part in says), text


def test_of_two_hosts_the_first_has_the_port():
    """And what is said is said of the other one."""
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        s = Site(made_lab)
        s.settings = TWIN % s.ndn_port
        with s.start(), Face.tcp("127.0.0.1", s.ndn_port) as f:
            assert page(f, "/twin/index.html").content == b"hello\n" and page(f, NAME + "/index.html").content_type == 3
            s.stop()
        with open(s.config_file, encoding="utf-8") as f:
            lines = f.read().splitlines()
        said = re.search(r":(\d+): another virtual host with CcnEngine", s.log())
        assert NAME in " ".join(lines[int(said[1]) - 1:])
        assert "/twin" not in " ".join(lines[int(said[1]) - 1:])


@pytest.mark.parametrize("speak, says", (("CcnForwarder unix:/x", PREFORK[:1]), ("CcnListen unix:/y", PREFORK[1:]), ("", ())))
def test_what_does_nothing_in_prefork(speak, says):
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        text = said_of(made_lab, speak, "", mpm="prefork")
    assert [part for part in SAID if part in text] == list(says), text


def test_what_is_set_where_nothing_speaks_ndn():
    """It is said though the module has nothing to do at all."""
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        good, text = Httpd(made_lab, load={"ccn": module("mod_ccn")}, config=UNUSED, environment=sanitizer_environment()).check()
    assert good and all(part in text for part in WITHOUT), text

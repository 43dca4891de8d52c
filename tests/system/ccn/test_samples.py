# SPDX-License-Identifier: BSD-2-Clause
"""The services of samples/services as etc/httpd-services-example.conf publishes them: the nextserve paper's calls, and what strangers send to them."""
import base64
import http.client
import json
import os
import re
import signal
import struct
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import zlib

import pytest

from lab import lab
from lab.lab import wait_for
from lab.samples import CONVERT, DOCUMENT, IMAGE, PAGES, Samples, image, pdf

SCALE = {"file": IMAGE, "width": "300", "height": "200"}        # as the paper writes it


@pytest.fixture(scope="module")
def served(request):
    for program in (CONVERT, "/usr/bin/pdftotext"):
        if not os.path.exists(program):
            pytest.skip(f"there is no {program}: ./quickstart deps")
    with lab.kept_lab("samples", lambda: request.session.testsfailed > 0) as made, Samples(made).start() as s:
        yield s


def called(service, arguments):
    return f"{service}/!{json.dumps(arguments, separators=(',', ':'), sort_keys=True, ensure_ascii=False)}"


def over_http(served, service, arguments, **fields):
    """By its name; where that is longer than httpd takes (LimitRequestLine), by POST."""
    request = urllib.request.Request(served.url + "/ccn" + urllib.parse.quote(called(service, arguments), safe="/!"), headers=fields)
    if len(request.full_url) > 4000:
        request = urllib.request.Request(served.url + "/ccn" + service, json.dumps(arguments).encode(), {"Content-Type": "application/json", **fields})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read(), answer.headers


def over_ndn(served, service, arguments, *options):
    escaped = service + "/" + urllib.parse.quote(called("", arguments).removeprefix("/"), safe="")
    done = subprocess.run([lab.program("ccnget/fairgate-ccnget"), "--forwarder", f"tcp://127.0.0.1:{served.ndn_port}", *options, "ndn:" + escaped],
                          capture_output=True, timeout=60, check=True)
    return done.stdout


def problem(served, service, arguments):
    with pytest.raises(urllib.error.HTTPError) as refused:
        over_http(served, service, arguments)
    content = refused.value.read()
    assert refused.value.headers["Content-Type"] == "application/problem+json"
    return json.loads(content)


def by_hand(folder, content, *words):
    """What that command makes of a file `in`."""
    (folder / "in").write_bytes(content)
    subprocess.run(words, cwd=folder, check=True)
    return (folder / "out").read_bytes()


def scaled(folder, content, kind="bmp", size="300x200"):
    return by_hand(folder, content, CONVERT, f"{kind}:in[0]", "-auto-orient", "+repage", "-resize", f"{size}!", "-strip", f"{kind}:out")


def as_jpeg(folder, content, kind="bmp"):
    return by_hand(folder, content, CONVERT, f"{kind}:in[0]", "-auto-orient", "+repage", "-background", "white", "-flatten", "-colorspace", "sRGB", "-strip", "-quality", "85",
                   "jpeg:out")


def content_of(served, name):
    with open(os.path.join(served.htdocs, name), "rb") as f:
        return f.read()


# ---- the paper's calls -----------------------------------------------------------------------------------------------------------

def test_text_of_a_page(served, tmp_path):
    document = content_of(served, "repository/paper.pdf")
    for page, line in enumerate(PAGES, 1):
        expected = by_hand(tmp_path, document, "pdftotext", "-q", "-enc", "UTF-8", "-nopgbrk", "-f", str(page), "-l", str(page), "in", "out")
        assert line.encode() in expected
        got, headers = over_http(served, "/SCN/services/pdf_to_text", {"file": DOCUMENT, "page": page})
        assert got == expected and headers["Content-Type"] == "text/plain;charset=utf-8" and headers["Cache-Control"] == "max-age=86400"
        assert over_ndn(served, "/SCN/services/pdf_to_text", {"file": DOCUMENT, "page": page}) == expected


def test_an_image_in_another_size(served, tmp_path):
    expected = scaled(tmp_path, content_of(served, "imgs/profile.bmp"))
    got, headers = over_http(served, "/unibe/cds/scaleImage", SCALE)
    assert got == expected and headers["Content-Type"] == "image/bmp"
    assert over_ndn(served, "/unibe/cds/scaleImage", SCALE) == expected


def test_a_result_as_a_parameter(served, tmp_path):
    """Fig. 4."""
    expected = as_jpeg(tmp_path, scaled(tmp_path, content_of(served, "imgs/profile.bmp")))
    nested = {"image": called("/unibe/cds/scaleImage", SCALE)}
    got, headers = over_http(served, "/scn/toJPEG", nested)
    assert got == expected and headers["Content-Type"] == "image/jpeg"
    assert over_ndn(served, "/scn/toJPEG", nested) == expected


def test_a_run_of_ones_own_is_the_same_result(served):
    first = over_ndn(served, "/unibe/cds/scaleImage", SCALE)
    assert over_ndn(served, "/unibe/cds/scaleImage", SCALE, "--header", "Cache-Control: no-cache") == first
    got, headers = over_http(served, "/unibe/cds/scaleImage", SCALE, **{"Cache-Control": "no-cache"})
    assert got == first and "Age" not in headers


@pytest.mark.parametrize("kind", ("png", "jpeg", "gif", "bmp", "tiff", "webp"))
def test_each_type_of_image(served, tmp_path, kind):
    content = image(kind, "90x60", "-set", "comment", "where it was taken")
    given = "data:;base64," + base64.b64encode(content).decode()
    got, headers = over_http(served, "/unibe/cds/scaleImage", {"file": given, "width": 40, "height": 50})
    assert got == scaled(tmp_path, content, kind, "40x50") and headers["Content-Type"] == f"image/{kind}"
    assert b"where it was taken" not in got
    assert over_http(served, "/scn/toJPEG", {"image": given})[0] == as_jpeg(tmp_path, content, kind)


def test_an_application_that_is_no_cgi(served):
    asked = {"text": "A name, a route; a name: z\u00fcrich's 12 names", "most": 2}
    got, headers = over_http(served, "/SCN/services/wordCounts", asked)
    assert json.loads(got) == {"words": 9, "different": 6, "counts": {"a": 3, "name": 2}} and headers["Content-Type"] == "application/json"
    assert over_ndn(served, "/SCN/services/wordCounts", asked) == got


# ---- what is wrong ---------------------------------------------------------------------------------------------------------------

def test_wrong_input_is_a_problem(served):
    small = "data:;base64," + base64.b64encode(image("png", "9x9")).decode()
    for service, arguments, kind, parameter in (
            ("/SCN/services/pdf_to_text", {"file": DOCUMENT, "page": 4}, "rejected", None),
            ("/SCN/services/pdf_to_text", {"file": DOCUMENT, "page": 0}, "out-of-bounds", "page"),
            ("/SCN/services/pdf_to_text", {"file": IMAGE, "page": 1}, "rejected", None),
            ("/SCN/services/pdf_to_text", {"file": "data:,%25PDF-1.4 nothing", "page": 1}, "rejected", None),
            ("/unibe/cds/scaleImage", {"file": DOCUMENT, "width": 3, "height": 3}, "rejected", None),
            ("/unibe/cds/scaleImage", {"file": small, "width": 5000, "height": 3}, "out-of-bounds", "width"),
            ("/unibe/cds/scaleImage", {"file": small, "width": 30}, "missing-parameter", "height"),
            ("/scn/toJPEG", {"image": ""}, "rejected", None),
            ("/scn/toJPEG", {"image": "ccnx:/dir/imgs/none.bmp"}, "not-there", "image"),
            ("/scn/toJPEG", {"image": called("/unibe/cds/scaleImage", {"file": DOCUMENT, "width": 3, "height": 3})}, "not-there", "image")):
        said = problem(served, service, arguments)
        assert (said["type"].rsplit(":", 1)[1], said.get("parameter")) == (kind, parameter), said
        if kind == "rejected":
            assert "422" in said["detail"]


def posted(served, path, body, source="127.0.0.1"):
    """To a program itself, past all that looks at parameters before."""
    c = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60, source_address=(source, 0))
    c.request("POST", path, body)
    answer = c.getresponse()
    content = answer.read()
    c.close()
    return answer.status, content


def nothing_is_put_aside(served):
    """A program may be cleaning up when its answer is there."""
    wait_for(lambda: os.listdir(served.put_aside) == [], 5, "an empty folder")


@pytest.mark.parametrize("value", (
    "$(touch${IFS}MARK)", "`touch${IFS}MARK`", "1;touch${IFS}MARK", "1|touch${IFS}MARK", "1%26%26touch${IFS}MARK", "*", "-1", "1%20-debug%20all", "+1", "0x10", "010", "1e2", "1.5", "99999999999",
    "@/etc/passwd", "1%0a", "", "%31", "1!", "1x1",
))
def test_words_of_a_shell_are_no_numbers(served, value):
    value = value.replace("MARK", os.path.join(served.put_aside, "mark"))
    for path in (f"/services/scale-image?width={value}&height=10", f"/services/scale-image?height=10&width={value}"):
        status, said = posted(served, path, image("png", "9x9"))
        assert (status, said) == (422, b"width must be a number from 1 to 4096.\n")
    assert posted(served, f"/services/pdf-to-text?page={value}", pdf(PAGES)) == (422, b"page must be a number from 1 to 99999.\n")
    nothing_is_put_aside(served)


@pytest.mark.parametrize("path", ("/services/to-jpeg?-version", "/services/to-jpeg?/etc/passwd+@/etc/passwd", "/services/scale-image?10x10", "/services/pdf-to-text?-help"))
def test_a_query_is_no_command_line(served, path):
    """Without a = in it httpd makes words of it (RFC 3875, 4.4)."""
    assert posted(served, path, b"")[0] == 422


SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="99" height="99"><image xlink:href="file:///etc/passwd" ' \
      b'width="99" height="99"/><text x="9" y="9">a</text></svg>'
MVG = b"push graphic-context\nviewbox 0 0 99 99\nimage over 0,0 99,99 'label:@/etc/passwd'\nfill 'url(https://127.0.0.1/x.jpg\"|touch \"MARK)'\npop graphic-context\n"
MSL = b'<?xml version="1.0"?><image><read filename="text:/etc/passwd"/><write filename="MARK"/></image>'
PS = b"%!PS-Adobe-3.0\n%%BoundingBox: 0 0 99 99\n(/etc/passwd) (r) file 999 string readstring pop show (%pipe%touch MARK) (w) file showpage\n"
TRICKS = {
    "svg": SVG, "mvg": MVG, "msl": MSL, "ps": PS, "eps in tiff's guise": b"\xc5\xd0\xd3\xc6" + PS, "label": b"label:@/etc/passwd", "text": b"text:/etc/passwd", "at": b"@/etc/passwd",
    "msl name": b"msl:/etc/passwd", "url": b"url:file:///etc/passwd", "xbm": b"#define a_width 9\n#define a_height 9\nstatic char a_bits[] = { 0 };", "vid": b"vid:/etc/passwd",
    "pdf": pdf(PAGES), "ppm": b"P6 9 9 255\n" + bytes(243), "xpm": b'/* XPM */\nstatic char *a[] = {"9 9 1 1", "a c red"};', "pcd": b"\0" * 2048 + b"PCD_OPA",
    "png and svg": b"\x89PNG\r\n\x1a\n" + SVG, "bmp and mvg": b"BM" + MVG, "bmp and label": b"BM:label:@/etc/passwd", "jpeg and msl": b"\xff\xd8\xff\xe0" + MSL, "gif and ps": b"GIF89a" + PS,
    "tiff and ps": b"II*\0" + PS, "webp and svg": b"RIFF\x10\0\0\0WEBP" + SVG, "a piece of a png": image("png")[:2000],
}


@pytest.mark.parametrize("trick", TRICKS)
def test_what_is_no_image_is_not_read(served, trick):
    """Only what begins as one of six types does is read, and as that type: no file's content, no program, no URL."""
    content = TRICKS[trick].replace(b"MARK", os.path.join(served.put_aside, "mark").encode())
    given = "data:image/png;base64," + base64.b64encode(content).decode()
    for service, arguments in (("/scn/toJPEG", {"image": given}), ("/unibe/cds/scaleImage", {"file": given, "width": 500, "height": 500})):
        said = problem(served, service, arguments)
        assert said["type"].endswith(":rejected") and "422" in said["detail"] and "root:" not in json.dumps(said), said
    nothing_is_put_aside(served)


@pytest.mark.parametrize("text", ("label:@/etc/passwd", "msl:/etc/passwd", "file:/etc/passwd", "png:/etc/passwd"))
def test_names_of_convert_lead_nowhere(served, text):
    assert problem(served, "/scn/toJPEG", {"image": text})["type"].endswith(":not-allowed")


def test_an_image_that_would_fill_the_machine(served):
    """15,000 x 15,000 pixels, 1.8 GB of them, in 30 kB."""
    bomb = large_png(15000, 15000)
    assert len(bomb) < 50_000
    given = "data:;base64," + base64.b64encode(bomb).decode()
    assert "422" in problem(served, "/scn/toJPEG", {"image": given})["detail"]


def large_png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    deflate, row = zlib.compressobj(9), bytes(1 + (width + 7) // 8)
    rows = b"".join(deflate.compress(row) for _ in range(height)) + deflate.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_program_that_is_ended_leaves_nothing(served, tmp_path):
    (tmp_path / "in").write_bytes(large_png(5000, 5000))
    (tmp_path / "aside").mkdir()
    with open(tmp_path / "in", "rb") as f:
        run = subprocess.Popen([os.path.join(served.programs, "scale-image")], stdin=f, stdout=subprocess.DEVNULL,
                               env={"QUERY_STRING": "width=4096&height=4096", "TMPDIR": str(tmp_path / "aside")})
    wait_for(lambda: list((tmp_path / "aside").glob("*/said")), 20, "convert at work")
    run.send_signal(signal.SIGTERM)
    run.wait(20)
    assert list((tmp_path / "aside").iterdir()) == []


# ---- the example -----------------------------------------------------------------------------------------------------------------

def test_who_may(served):
    assert posted(served, "/services/to-jpeg", image("png", "9x9"))[0] == 200
    assert posted(served, "/services/to-jpeg", image("png", "9x9"), source="127.0.0.2")[0] == 403
    assert posted(served, "/services/common.sh", b"")[0] == 403
    assert posted(served, "/services/", b"")[0] in (403, 404)


def test_commands_of_the_docs(served):
    """docs/services.md: whichever way, the same result."""
    with open(os.path.join(lab.ROOT, "docs", "services.md"), encoding="utf-8") as f:
        commands = re.findall(r"^    ((?:fairgate-ccnget|fairgate-ccncall|curl) .*pdf_to_text.*)$", f.read(), re.M)
    assert len(commands) == 5
    got = set()
    for command in commands:
        for program in ("fairgate-ccnget", "fairgate-ccncall"):
            where = "" if "--http" in command else f" --forwarder tcp://127.0.0.1:{served.ndn_port}"
            command = command.replace(program + " ", f"{lab.program('ccnget/' + program)}{where} ")
        command = command.replace("http://example.org", served.url)
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=True, cwd=os.path.join(served.htdocs, "repository"))
        got.add(done.stdout.decode().strip())
    assert got == {PAGES[1]}


def test_it_is_as_it_says(served):
    """What it has in comments is right as well; each program says the line with which the example publishes it."""
    text = served.example()
    with_all = re.sub("^( *)#(?=Ccn)", r"\1", text, flags=re.M)
    assert len(text) - len(with_all) == 2, "CcnForwarder and CcnFetch"
    with lab.kept_lab("samples", lambda: False) as made:
        s = Samples(made)
        s.example = lambda: with_all
        good, said = s.check()
        assert good and "ccn" not in said.lower(), said
    declared = {line.split()[1] for line in text.splitlines() if line.startswith("CcnService ")}
    listed = json.loads(urllib.request.urlopen(served.url + "/ccn/", timeout=10).read())["services"]
    assert {s["name"] for s in listed} == declared and all(s["doc"] for s in listed)
    for name in ("pdf-to-text", "scale-image", "to-jpeg", "word-counts.php"):
        with open(os.path.join(served.programs, name), encoding="utf-8") as f:
            said = re.search(r"CcnService (\S+ .*? => /services/\S+)", f.read())[1]
        assert said.replace("32M", "16M") in text, name


def test_nothing_is_left(served):
    nothing_is_put_aside(served)
    assert served.status()["pages"] >= 0
    assert "AddressSanitizer" not in served.log() and "exit signal" not in served.log()

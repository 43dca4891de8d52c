# SPDX-License-Identifier: BSD-2-Clause
"""
setting.py - what all measurements of this bench have in common: httpd with mod_ccn, a forwarder, clients, and a provider of content, each a host of its own (the paper's Fig. 7).

    services ── router: ndnd ── clients
                   └── content

A server for each CcnThreads, made when it is first needed.  What does the work is PHP-FPM, which starts no process for a call, and of which there are always more workers than threads:

    sleep.php       sleeps as long as it is told; next to no CPU
    pdf.php         the paper's pdf_to_text: pdftotext of poppler-utils makes the text of one page of the PDF that is posted.  Where the paper's machine of 2005 took 57 ms
                    for that, ours is done in a few: pdf.php sleeps for the rest of 57 ms, so that our times and rates are the paper's, and two cores have time for five hosts

The paper's text gives a response of 75 ms, a service of 57, a layer of 0.5, a knee at 17 calls/s; and with results kept, at 15 calls/s, 37 ms where 35 % of the calls are equal.
Its curves are not reprinted in it.  The forwarder keeps no packets: who gets a result that is kept gets it from httpd, the farthest place that has it.
"""
import contextlib
import itertools
import json
import os
import random
import shutil
import urllib.parse
import zlib

import bench

from lab.ccn import Site
from lab.httpd import PhpFpm
from lab.lab import LabError, wait_for
from lab.ndn import Forwarder
from lab.ndn_load import failed, ndn_load
from lab.path import Path

SERVICE_MS, PAPER_MS, PAPER_LAYER_MS, PAPER_KNEE = 57, 75, 0.5, 17
PDFS, PDF_PAGES, PDF_BYTES, PDF_WORDS = 40, 50, 200_000, 400
PATIENT_MS = 60_000     # nobody asks again: what waits is to be seen

SLEEP = """<?php
usleep((int)(1000 * (float)($_GET['ms'] ?? 0)));
header('Content-Type: text/plain');
echo 'slept for ' . ($_GET['ms'] ?? 0) . ' ms, call ' . ($_GET['n'] ?? '') . "\\n";
"""
PDF = f"""<?php
$began = hrtime(true);
$file = isset($_GET['path']) ? '/pdf/' . basename($_GET['path']) : '';
$page = max(1, (int)($_GET['page'] ?? 1));
$pdf = proc_open(['pdftotext', '-f', "$page", '-l', "$page", '-', '-'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], $file ? file_get_contents($_SERVER['DOCUMENT_ROOT'] . $file) : file_get_contents('php://input'));
fclose($pipes[0]);
$text = stream_get_contents($pipes[1]);
$status = proc_close($pdf);
$took = intdiv(hrtime(true) - $began, 1000);
usleep(max(0, {1000 * SERVICE_MS} - $took));
http_response_code($status || $text === '' ? 500 : 200);
header('Content-Type: text/plain');
if ($file) header('Cache-Control: max-age=3600');
echo $text;
error_log("pdftotext $took us");
"""
SERVICES = """
CcnService {base}/sleep ms=number n=text => /sleep.php?ms={{ms}}&n={{n}}
CcnService {base}/with ms=number of=content => /sleep.php?ms={{ms}}
CcnService {base}/both one=content two=content => /sleep.php
CcnService {base}/small n=text => /small.txt?n={{n}}
CcnService {base}/services/pdf_to_text file=content(1M) page=int(1..{pages}) run=int:0 => /pdf.php?page={{page}}&run={{run}}
CcnService {base}/kept/pdf_to_text file=content(1M) page=int(1..{pages}) run=int:0 => /pdf.php?page={{page}}&run={{run}} fresh=1h
"""
LIBRARY = "/library/repository"


def pdf(seed):
    """A PDF of as many pages, each with words of its own, and as many bytes as the paper's have."""
    rng = random.Random(seed)

    def stream(data):
        packed = zlib.compress(data)
        return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(PDF_PAGES))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count %d /Kids [ %s ] >>" % (PDF_PAGES, kids),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for i in range(PDF_PAGES):
        words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(PDF_WORDS)]
        lines = [f"document {seed}, page {i + 1}", *(" ".join(words[at:at + 12]) for at in range(0, PDF_WORDS, 12))]
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [ 0 0 595 842 ] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>" % (5 + 2 * i))
        objects.append(stream(("BT /F 9 Tf 11 TL 40 800 Td\n" + "".join(f"({line}) '\n" for line in lines) + "ET\n").encode()))
    missing = PDF_BYTES - sum(map(len, objects)) - 40 * len(objects)
    objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (missing, rng.randbytes(missing)))      # a picture that no page shows
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, what in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, what)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    return bytes(out + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, table, len(places) + 1, len(out)))


def text_of(service, arguments):
    """A call in NextServe's form."""
    return f"{service}/!{json.dumps(arguments, separators=(',', ':'), sort_keys=True)}"


def name_of(service, arguments):
    """The same as a name; {n} in it stays."""
    return service + "/" + urllib.parse.quote(text_of("", arguments)[1:], safe="").replace("%7Bn%7D", "{n}")


class Lan(Path):
    """The paper's Fig. 7."""

    def __init__(self, lab):
        super().__init__(lab)
        self.content = self.host("content", "10.7.0.2")

    def build(self):
        super().build()
        self.wire(self.router, "side0", self.content, "out0")
        self.router.device("side0", "10.7.0.1/24")
        self.content.device("out0", "10.7.0.2/24")
        self.content.ip("route add default via 10.7.0.1\n")


class Provider(Site):
    """Services of httpd with mod_ccn; its PHP has `workers`."""

    def __init__(self, lab, base, workers, settings, **options):
        self.base, self.fpm = base, PhpFpm(lab, workers=workers)
        self.results = os.path.join(lab.dir, "results" + base.replace("/", "-"))
        texts = {"small.txt": b"as little as a page can be\n", "sleep.php": SLEEP.encode(), "pdf.php": PDF.encode()}
        settings = f"CcnServices /ccn\nCcnResults {self.results}\n{settings}\n{SERVICES.format(base=base, pages=PDF_PAGES)}"
        super().__init__(lab, prefix=f"{base}/pages", files=texts, settings=settings, php=self.fpm.address, children=1, threads=64,
                         access_log="%D %{ccn-wait}n %U", **options)

    def on(self, link):
        self.fpm.on(link)
        self.php = self.fpm.address
        return super().on(link)

    def start(self, seconds=20):
        self.fpm.start()
        return super().start(seconds)

    def stop(self, seconds=10):
        super().stop(seconds)
        self.fpm.stop(seconds)

    def made(self, before):
        """[(milliseconds that it took to make, that it waited for its turn)] of what pdf.php made since the log had so many lines."""
        rows = [line.split() for line in self.access_log()[before:]]
        return [(int(took) / 1000, int(waited) / 1000) for took, waited, path in rows if path == "/pdf.php" and waited != "-"]

    def pdftotext_ms(self):
        """What pdftotext itself took, by what PHP logs of it."""
        return [int(line.split("pdftotext ")[1].split()[0]) / 1000 for line in self.log().splitlines() if "pdftotext " in line]


class Bench(bench.Bench):
    PATIENCE = (300, 15)

    def __init__(self, lab, *words):
        super().__init__(lab, *words)
        if not shutil.which("pdftotext"):
            raise LabError("there is no pdftotext: install poppler-utils")
        self.network = Lan(lab).start()
        self.forwarder = Forwarder(lab, cache=0).on(self.network.router).start()
        self.pdfs = {f"{i}.pdf": pdf(i) for i in range(PDFS)}
        self.content = Site(lab, prefix=LIBRARY, files=self.pdfs).on(self.network.content).start()
        self.forwarder.route("/library", self.content.uri)
        self.providers, self.numbers = {}, itertools.count(1)
        self.reachable(f"{LIBRARY}/0.pdf")

    def provider(self, threads):
        if threads not in self.providers:
            base = f"/SCN{threads}"
            self.providers[threads] = made = Provider(self.lab, base, 2 * threads + 2, f"CcnThreads {threads}",
                                                      speak=f"CcnForwarder tcp4://{self.network.router.address}").on(self.network.server).start()
            self.forwarder.route(base, made.uri)
            self.reachable(name_of(f"{base}/small", {"n": "{n}"}))
            # What services cost is learnt: one that nobody has met has a quarter of the threads.
            self.ask(name_of(f"{base}/sleep", {"ms": SERVICE_MS, "n": "{n}"}), requests=5, seconds=20)
            self.run([("warm", name_of(f"{base}/{kind}/pdf_to_text", self.page(i, next(self.numbers)))) for i, kind in enumerate(("services", "kept") * 2)], 4, 1)
        return self.providers[threads]

    def reachable(self, name):
        """Waits until something comes.  At once: of a connection that says nothing for 15 s httpd's kernel (TCP_DEFER_ACCEPT) may hear nothing for another 16."""
        wait_for(lambda: self.ask(name, requests=1, lifetime=500, wait=500, tries=1)["pages"], 20, "the forwarder's way to a server")

    @staticmethod
    def page(i, run):
        """Parameters of pdf_to_text that no other call of this run has: another page of another file each time."""
        return {"file": f"ccnx:{LIBRARY}/{i % PDFS}.pdf", "page": i // PDFS % PDF_PAGES + 1, "run": run}

    def ask(self, names, **words):
        return ndn_load(self.lab, self.forwarder.address, names, on=self.network.clients, serial=100_000 * next(self.numbers), **words)

    def run(self, names, rate, seconds, even=True, seed=1, drain=60):
        """An open load of three clients: a call after the other of [(kind, name)], at equal distances or as Poisson has them.  What the clients saw, each with its kind."""
        result = self.ask([(1, kind, name) for kind, name in names], load="alternating", own=True, even=even, rate=rate, between=seconds, turns=1, faces=3, seed=seed,
                          seconds=seconds + drain, lifetime=PATIENT_MS, wait=PATIENT_MS, each=True)
        if failed(result):
            self.say(f"{failed(result)} of {result['pages'] + sum(result['failed'].values())} calls at {rate:.1f}/s did not come: {result['failed']} {result['status']}")
        return result


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


@contextlib.contextmanager
def running(*servers):
    """Each starts, and is stopped whatever comes."""
    with contextlib.ExitStack() as stack:
        for s in servers:
            s.start()
            stack.callback(s.stop)
        yield servers

# SPDX-License-Identifier: BSD-2-Clause
"""
samples.py - httpd with etc/httpd-services-example.conf and the programs of samples/services, as an administrator has them but for paths and ports.

    with Samples(lab, callers="10.6.0.0/16").on(path.server).start() as s: ...

The paper's image is /dir/imgs/profile.bmp by name, its document /library/repository/paper.pdf.
"""
import os
import re
import shutil
import subprocess

from .ccn import Site
from .httpd import PhpFpm
from .lab import ROOT, free_port

CONVERT = "/usr/bin/convert"
IMAGE, DOCUMENT = "ccnx:/dir/imgs/profile.bmp", "ccnx:/library/repository/paper.pdf"
PAGES = ("Services have names", "The second page: 100 % of (it)", "The end")


def image(kind, size="400x300", *words):
    """Bytes of a picture of that type."""
    return subprocess.run([CONVERT, "-size", size, "plasma:red-blue", "-seed", "1", *words, f"{kind}:-"], stdout=subprocess.PIPE, check=True).stdout


def pdf(pages):
    """A document of a line of text on each page, written by hand."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for n, line in enumerate(pages):
        escaped = re.sub(r"([()\\])", r"\\\1", line)
        drawn = f"BT /F1 24 Tf 72 720 Td ({escaped}) Tj ET"
        objects += [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * n} 0 R >>",
                    f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"]
    out, places = "%PDF-1.4\n", []
    for n, text in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return (out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n").encode()


class Samples(Site):
    """callers: addresses that may call over HTTP, besides this machine's; ndn_port is that of the example."""

    def __init__(self, lab, callers="192.0.2.0/24", files=(), more="", **options):
        self.fpm = PhpFpm(lab)
        super().__init__(lab, modules=("authz_host",), files={"imgs/profile.bmp": image("bmp"), "repository/paper.pdf": pdf(PAGES), **dict(files)}, **options)
        self.callers, self.more = callers, more
        self.own_port, self.ndn_port = self.ndn_port, free_port()
        self.programs = os.path.join(lab.dir, f"services-{self.ndn_port}")
        shutil.copytree(os.path.join(ROOT, "samples", "services"), self.programs)
        self.put_aside = self.path("aside")
        os.mkdir(self.put_aside)
        for place, mode in ((self.programs, 0o755), (self.put_aside, 0o1777)):
            os.chmod(place, mode)
        for name in os.listdir(self.programs):      # whatever umask their tree was made with
            os.chmod(os.path.join(self.programs, name), 0o644 if "." in name else 0o755)

    def example(self):
        with open(os.path.join(ROOT, "etc", "httpd-services-example.conf"), encoding="utf-8") as f:
            text = re.sub("^LoadModule.*$", "", f.read(), flags=re.M)
        return (text.replace("127.0.0.1:6363", f"{self.host}:{self.ndn_port}").replace("*:6363", f"*:{self.ndn_port}").replace("/usr/lib/fairgate/services", self.programs)
                .replace("/var/www/html", self.htdocs).replace("/var/cache/apache2/fairgate-results", self.path("results"))
                .replace("unix:/run/php/php-fpm.sock|fcgi://localhost", f"fcgi://{self.fpm.address}").replace("#Require ip 192.0.2.0/24", f"Require ip {self.callers}"))

    def configure(self):
        self.settings = f"{self.example()}\nSetEnv TMPDIR {self.put_aside}\n{self.more}"
        example, self.ndn_port = self.ndn_port, self.own_port     # of the virtual host that Site writes
        super().configure()
        self.ndn_port = example

    def on(self, link):
        self.fpm.on(link)
        return super().on(link)

    def start(self, *options):
        self.fpm.start()
        return super().start(*options)

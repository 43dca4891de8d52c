# SPDX-License-Identifier: BSD-2-Clause
"""An archive like Debian's, in a directory: a release that has the source of a Squid, signed with a key of its own, and an apt that knows it alone."""

import hashlib
import os
import pathlib
import shutil
import subprocess


def run(*argv, **kwargs):
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **kwargs)


class Archive:
    """A context manager.  environment: what makes apt use it."""

    def __init__(self, directory, release="bookworm", upstream="5.7"):
        self.top, self.release, self.upstream = pathlib.Path(directory), release, upstream
        self.root, self.home = self.top / "archive", self.top / "gnupg"
        self.environment = {"APT_CONFIG": str(self.top / "apt.conf")}

    def __enter__(self):
        self.home.mkdir(mode=0o700)
        self.root.mkdir()
        self.gpg("--quick-gen-key", "archive@example.net", "ed25519", "sign")
        key = self.top / "archive.gpg"
        self.gpg("--output", str(key), "--export")
        (self.top / "sources.list").write_text(f"deb [signed-by={key}] file:{self.root} {self.release} main\n")
        for directory in ("lists/partial", "cache/archives/partial"):
            (self.top / "state" / directory).mkdir(parents=True)
        (self.top / "apt.conf").write_text(f'Dir::Etc::SourceList "{self.top}/sources.list";\nDir::Etc::SourceParts "/dev/null";\n'
                                           f'Dir::State "{self.top}/state";\nDir::Cache "{self.top}/state/cache";\n'
                                           'Acquire::GzipIndexes "true";\n')      # copies, as of an archive that is elsewhere
        return self

    def __exit__(self, *_):
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "gpg-agent"], capture_output=True, check=False)

    def gpg(self, *argv):
        run("gpg", "--homedir", str(self.home), "--batch", "--yes", "--pinentry-mode", "loopback", "--passphrase", "", *argv)

    def has(self, revision):
        """From now on its newest Squid is this one: UPSTREAM-REVISION.  The earlier ones stay."""
        pool, work = self.root / "pool", self.top / "work"
        pool.mkdir(exist_ok=True)
        shutil.rmtree(work, ignore_errors=True)
        tree = work / f"squid-{self.upstream}"
        (tree / "debian" / "source").mkdir(parents=True)
        (tree / "configure.ac").write_text("one\ntwo\nno Squid\nfour\nfive\n")
        orig = pool / f"squid_{self.upstream}.orig.tar.xz"
        if not orig.exists():
            run("tar", "-C", str(work), "--exclude=debian", "-cJf", str(orig), tree.name)
        shutil.copy(orig, work)
        (tree / "debian" / "source" / "format").write_text("3.0 (quilt)\n")
        (tree / "debian" / "control").write_text("Source: squid\nMaintainer: A <a@example.net>\nStandards-Version: 4.6.0\n\n"
                                                 "Package: squid\nArchitecture: any\nDescription: none\n none\n")
        (tree / "debian" / "changelog").write_text(f"squid ({revision}) {self.release}; urgency=medium\n\n  * None.\n\n"
                                                   " -- A <a@example.net>  Sat, 21 Nov 2026 12:00:00 +0000\n")
        (tree / "debian" / "rules").write_text("#!/usr/bin/make -f\n")
        run("dpkg-source", "-b", tree.name, cwd=work)
        for file in work.glob("squid_*"):
            shutil.copy(file, pool)
        dist = self.root / "dists" / self.release
        for name, text in (("main/source/Sources", run("dpkg-scansources", "pool", cwd=self.root).stdout), ("main/binary-amd64/Packages", "Package: none\nVersion: 1\nArchitecture: amd64\n")):
            (dist / name).parent.mkdir(parents=True, exist_ok=True)
            (dist / name).write_text(text)
        files = [(hashlib.sha256(f.read_bytes()).hexdigest(), f.stat().st_size, f.relative_to(dist)) for f in dist.glob("main/*/*")]
        (self.top / "Release").write_text(f"Origin: Debian\nSuite: stable\nCodename: {self.release}\nComponents: main\nArchitectures: amd64\n"
                                          "Date: Sat, 21 Nov 2020 12:00:00 UTC\nSHA256:\n" + "".join(f" {h} {n} {name}\n" for h, n, name in files))
        self.gpg("--output", str(dist / "InRelease"), "--clearsign", str(self.top / "Release"))
        if not (self.top / "known").exists():       # the machine's own apt knows what it once was told
            run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "update", env={**os.environ, **self.environment})
            (self.top / "known").touch()

    def goes_away(self):
        os.rename(self.root, self.top / "away")

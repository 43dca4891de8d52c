# SPDX-License-Identifier: BSD-2-Clause
"""What stands beside the Squid under test: a directory, an origin, and the Squids that a test has made."""

import contextlib
import os
import subprocess

import pytest
from lab import lab, squid
from squid_origin import Origin
from squid_proxy import Proxy, sanitized


def which():
    """The Squid under test; a test that needs one is left out where there is none, but not on a build server."""
    try:
        return squid.fqrs()
    except (lab.LabError, OSError) as why:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Squid: {why}")


@contextlib.contextmanager
def field_lab(request, name):
    """A lab of this name for network namespaces and a Squid in them; kept when a test failed."""
    if os.geteuid():
        pytest.skip("network namespaces need root")
    which()
    with lab.kept_lab(name, lambda: request.session.testsfailed > 0) as made:
        yield made


def certificate(directory, name, common, *more):
    """(certificate, key), PEM."""
    files = str(directory / f"{name}.pem"), str(directory / f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={common}", "-out", files[0], "-keyout", files[1],
                    *more], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return files


class SquidWorld:
    def __init__(self, keep):
        self.keep = keep
        # How much longer than a plain build this one takes for everything.
        self.patience = 4 if sanitized(os.path.join(which(), "sbin", "squid")) else 1
        self.made = []

    def __enter__(self):
        self.lab = lab.Lab("squid")
        self.origin = Origin().start()
        return self

    def __exit__(self, *_):
        self.origin.__exit__()
        self.lab.close(keep=self.keep())

    def proxy(self, config="", **kwargs):
        self.made.append(Proxy(self, config, **kwargs))
        return self.made[-1]

    @contextlib.contextmanager
    def ending(self):
        """A list of Squids that are to end with the block; each must have been well."""
        proxies = []
        try:
            yield proxies
        finally:
            for p in proxies:
                p.begin_to_end()
            for p in proxies:
                p.stop()
        for p in proxies:
            p.assert_well()

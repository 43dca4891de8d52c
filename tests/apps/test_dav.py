# SPDX-License-Identifier: BSD-2-Clause
"""WebDAV of httpd itself, driven by litmus, the public test suite of WebDAV servers."""
import glob
import os
import re
import shutil
import subprocess

import pytest

import http1
from modes import MODES, Runs

pytestmark = pytest.mark.xdist_group("dav")


@pytest.fixture(scope="module")
def folder(lab):
    root = os.path.join(lab.dir, "dav")
    os.makedirs(f"{root}/dav")
    os.makedirs(f"{root}/locks")
    subprocess.run(["chown", "-R", "www-data:www-data", root], check=True)
    config = f"""
        DavLockDB {root}/locks/db
        <Directory {root}/dav>
            Dav On
            DavDepthInfinity On
        </Directory>
        """

    def client(gateway, own):
        """All lines of litmus, and what its suites leave in the folder."""
        done = subprocess.run(["litmus", "-k", f"{gateway.url}/dav/"], cwd=lab.dir, capture_output=True, text=True, check=False, timeout=600)
        # The last test hangs up in the middle of a PUT.
        http1.until(lambda: not glob.glob(f"{root}/dav/litmus/.davfs.tmp*"), 10, "the server ends the PUT of a client that is gone")
        left = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(f"{root}/dav") for name in names)
        shutil.rmtree(f"{root}/dav/litmus", ignore_errors=True)
        lines = [re.sub(r"opaquelocktoken:\S+|\bport \d+|:\d{5}\b", "...", line.rpartition("\r")[2]) for line in done.stdout.splitlines()]
        return [done.returncode, *lines, left]

    return Runs(lab, {"config": config, "htdocs": root, "modules": ("dav", "dav_fs")}, client)


def test_litmus_passes_without_the_module(folder):
    said = "\n".join(map(str, folder.usual))
    assert len(re.findall(r"\.\. pass", said)) > 60, said
    assert {"basic", "copymove", "props", "locks", "http"} == set(re.findall(r"running `(\w+)'", said)), said


@pytest.mark.parametrize("mode", MODES)
def test_webdav_client_sees_in_each_mode_what_it_sees_without_the_module(folder, mode):
    folder.check(mode)
    assert any(r["expect"] == "100-continue" for r in folder.requests), "litmus sent no Expect"

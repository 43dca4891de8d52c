# SPDX-License-Identifier: BSD-2-Clause
"""TLS and HTTP/2: requests wait and are served there too (streams of HTTP/2 block a thread of mod_http2), and slots come back."""

import json
import subprocess

import pytest


def curl(gateway, *urls, http="--http1.1", parallel=False, headers=()):
    """[(status, bytes, version)] of the URLs, asked for with curl over TLS."""
    command = ["curl", "--silent", "--show-error", "--insecure", http, "--max-time", "60", "--write-out", "%{json}\n"]
    if parallel:
        command += ["--parallel", "--parallel-immediate", "--parallel-max", "50"]
    for header in headers:
        command += ["--header", header]
    for url in urls:
        command += ["--output", "/dev/null", f"https://localhost:{gateway.tls_port}{url}"]
    command += ["--connect-to", f"localhost:{gateway.tls_port}:127.0.0.1:{gateway.tls_port}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [(a["http_code"], a["size_download"], a["http_version"]) for a in answers]


@pytest.mark.parametrize("http, version", [("--http1.1", "1.1"), ("--http2", "2")])
def test_at_once_and_after_waiting(tls_gateway, http, version):
    g = tls_gateway
    before = g.settled()
    assert curl(g, "/b/size/5000", http=http) == [(200, 5000, version)]
    with g.window_taken() as taken:
        with g.in_background(curl, g, "/static/2k.txt", http=http) as visit:
            g.until_queued(1)
            taken.release()
            assert visit.result() == [(200, 2048, version)]
    g.assert_each_once(before, 2 + taken.count)


def test_streams_share_a_connection(tls_gateway):
    """12 streams at once with one slot: each is answered.  On a busy machine curl opens a connection for each, and a class has threads for no more."""
    g = tls_gateway
    before = g.settled()
    answers = curl(g, *[f"/b/size/{1000 + n}" for n in range(12)], http="--http2", parallel=True, headers=["Cookie: session=1"])
    assert sorted(answers) == [(200, 1000 + n, "2") for n in range(12)]
    g.assert_each_once(before, 12)


def test_stream_given_up_while_queued(tls_gateway):
    g = tls_gateway
    before = g.settled()
    with g.window_taken() as taken:
        visit = subprocess.Popen(["curl", "-sk", "--http2", "-o", "/dev/null", f"https://127.0.0.1:{g.tls_port}/b/size/10"],
                                 stdin=subprocess.DEVNULL)
        g.until_queued(1)
        visit.kill()
        visit.wait()
        # mod_http2 notices that its connection is gone; the stream's wait ends then, or at the latest when its turn comes.
        taken.release()
    after = g.settled()
    assert after["submitted"] - before["submitted"] == 1 + taken.count


def test_class_by_tls_session_protocol(tls_gateway):
    """prot_type of a rule sees https."""
    g = tls_gateway
    before = g.settled()["by_class"]
    curl(g, "/b/size/10", headers=["User-Agent: by-protocol"])
    after = g.settled()["by_class"]
    assert after["secure"]["done"] - before["secure"]["done"] == 1

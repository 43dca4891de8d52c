# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_load.py - running fairgate-ndn-load from Python, and fairgate-ndn-echo, the least that a producer can be.

    result = ndn_load(lab, forwarder.host, [(0.7, "small", "/site/item%3Fn%3D{n}"), (0.3, "large", "/site/search")], load="spike", clients=300, spread=0.2)
    result["latency_ms"]["mean"], result["kinds"]["small"]["latency_ms"]["p95"], result["retransmissions"]

The options are those of fairgate-ndn-load --help, with "_" for "-"; True is one without a value.  names: one, or (weight, kind, name) of several.  on: the host whose clients these
are; core: the one that they may use.  Results are the JSON of ndn_load_report.c; "each" has a Page for each, if it was asked for.
"""
import collections
import json
import signal
import subprocess
import tempfile
import urllib.parse

from .lab import LabError, Server, most_files, program

Page = collections.namedtuple("Page", "kind asked ms first_ms segments status interests retransmissions window")


def name_of(prefix, path):
    """The name of that path and query below that prefix, as URI text; a {n} stays."""
    return "/".join([prefix.rstrip("/"), *(urllib.parse.quote(piece, safe="{}") for piece in path.lstrip("/").split("/"))])


def pinned(core):
    return [] if core is None else ["taskset", "-c", str(core)]


class NdnLoad:
    """A fairgate-ndn-load at work."""

    def __init__(self, lab, address, names, on=None, core=None, realtime=True, seconds=10, warmup=0, **options):
        argv = [*(on.prefix if on else ()), *pinned(core), program("tests/lab/fairgate-ndn-load"), "--seconds", str(seconds), "--warmup", str(warmup)]
        if isinstance(names, str):
            argv += ["--name", names]
        else:
            with tempfile.NamedTemporaryFile("w", dir=lab.dir, prefix="names-", delete=False) as f:
                f.writelines(f"{weight} {kind} {name}\n" for weight, kind, name in names)
            argv += ["--names", f.name]
        for option, value in {**options, "realtime": realtime}.items():
            if value is not None and value is not False:
                argv += [f"--{option.replace('_', '-')}"] + ([] if value is True else [str(value)])
        self.most_seconds = seconds + warmup + 30
        self.process = subprocess.Popen([*argv, address], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=most_files)

    def stop(self):
        """Ends the measurement now; result() then gives what was seen so far."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def result(self):
        try:
            out, said = self.process.communicate(timeout=self.most_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise LabError(f"fairgate-ndn-load did not end within {self.most_seconds} s") from None
        if self.process.returncode:
            raise LabError(f"fairgate-ndn-load ended with {self.process.returncode}: {said.strip()}")
        found = json.loads(out)
        if "each" in found:
            found["each"] = [Page(*row) for row in found["each"]]
        return found

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def ndn_load(lab, address, names, **options):
    with NdnLoad(lab, address, names, **options) as run:
        return run.result()


def failed(result):
    """How many pages did not come whole, or came as an error."""
    return sum(result["failed"].values()) + sum(n for status, n in result["status"].items() if int(status) >= 400)


class Echo(Server):
    """fairgate-ndn-echo: pages of these names, of so many segments of so many bytes; core: the one that it may use."""

    name = "echo"

    def __init__(self, lab, names, segments, size=4096, core=None):
        super().__init__(lab)
        self.names, self.segments, self.size, self.core = names, segments, size, core

    @property
    def uri(self):
        return f"tcp4://{self.address}"

    def argv(self):
        return [*pinned(self.core), program("tests/lab/fairgate-ndn-echo"), self.address, str(self.segments), str(self.size), *self.names]

    def ready(self):
        return "ready" in self.log()

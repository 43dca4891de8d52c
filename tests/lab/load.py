# SPDX-License-Identifier: BSD-2-Clause
"""
load.py - running fairgate-load from Python.

    PEOPLE = dict(name="people", clients=30, header="Cookie: session=1", urls=site["urls"]["mix"])
    result = load(gateway.address, [PEOPLE, SEARCH, CRAWL], seconds=30, warmup=2)
    result["classes"]["people"]["share"]

The words of a class are those of fairgate-load --help, with "_" for "-"; a list gives a word several times, True a word without value.
Results are the JSON of load_report.c, with "classes" keyed by name.
"""
import json
import signal
import subprocess
import threading

from .lab import LabError, most_files, program


def class_text(words):
    parts = [words["name"]]
    for key, value in words.items():
        if key == "name" or value is None or value is False:
            continue
        for v in value if isinstance(value, (list, tuple)) else [value]:
            text = str(v).replace("\\", "\\\\").replace(",", "\\,").replace("'", "\\'").replace('"', '\\"')
            parts.append(key if v is True else f"{key}={text}")
    return ",".join(parts)


class Load:
    """A fairgate-load at work.  lines: the interval results so far; on_line is called with each, from a thread of its own."""

    def __init__(self, address, classes, seconds, warmup=0, interval=0, timeout=60, ramp=0, seed=1, host=None, table=False,
                 realtime=True, on_line=None, prefix=()):
        argv = [*prefix, program("tests/lab/fairgate-load")]
        for option, value in dict(seconds=seconds, warmup=warmup, interval=interval, timeout=timeout, ramp=ramp, seed=seed).items():
            argv += [f"--{option}", str(value)]
        argv += ["--host", host] if host else []
        argv += ["--table"] if table else []
        argv += ["--realtime"] if realtime else []
        for c in classes:
            argv += ["--class", class_text(c)]
        self.most_seconds = seconds + warmup + 30
        self.lines, self.final = [], None
        self.process = subprocess.Popen(argv + [address], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=most_files)
        self.reader = threading.Thread(target=self._read, args=(on_line,), daemon=True)
        self.reader.start()

    def _read(self, on_line):
        for text in self.process.stdout:
            line = json.loads(text)
            line["classes"] = {c["name"]: c for c in line["classes"]}
            if line["final"]:
                self.final = line
            else:
                self.lines.append(line)
                if on_line:
                    on_line(line)

    def running(self):
        return self.process.poll() is None

    def stop(self):
        """Ends the measurement now; result() then gives what was seen so far."""
        if self.running():
            self.process.send_signal(signal.SIGINT)

    def result(self):
        """Waits for the end and returns the final result; its "intervals" are the lines."""
        try:
            self.process.wait(self.most_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise LabError(f"fairgate-load did not end within {self.most_seconds} s") from None
        self.reader.join(10)
        if self.process.returncode or self.final is None:
            raise LabError(f"fairgate-load ended with {self.process.returncode}")
        return {**self.final, "intervals": self.lines}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.running():
            self.process.kill()
        self.process.wait()
        self.reader.join(10)


def load(address, classes, seconds, **options):
    with Load(address, classes, seconds, **options) as run:
        return run.result()


def errors(result):
    """How many requests failed on the way, in all: no connection, broken, cut, bad or too late."""
    return sum(result["total"]["errors"].values())

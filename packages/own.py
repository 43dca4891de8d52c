# SPDX-License-Identifier: BSD-2-Clause
"""
own.py - what tries of packages in a clean system have in common: commands, waits, a systemd of its own, and a package's next version.
"""
import atexit
import os
import subprocess
import sys
import tempfile
import time


def run(*words, **options):
    r = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if r.returncode:
        raise SystemExit(f"{' '.join(words)}: {r.stderr or r.stdout}")
    return r.stdout


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.05)
    return result


class Systemd:
    """One that is process 1 of what runs below it, with a part of the control groups that is its own."""

    def __init__(self):
        groups = "/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified") else "/sys/fs/cgroup"
        self.group = tempfile.mkdtemp(prefix="fairgate-packages-", dir=groups)
        # What the processes here are in now: back there at the end.
        with open("/proc/self/cgroup", encoding="ascii") as f:
            self.was = groups + next(line[3:].strip() for line in f if line.startswith("0::"))
        with open("/etc/systemd/system/try.target", "w", encoding="ascii") as f:
            f.write("[Unit]\nDescription=No more than what is asked for\n")
        self.move(self.group)
        self.process = subprocess.Popen(["unshare", "--pid", "--mount", "--cgroup", "--fork", "--kill-child", "sh", "-euc", """
            mount --make-rprivate /
            mount -t proc proc /proc
            umount -R -l /sys/fs/cgroup
            mount -t cgroup2 none /sys/fs/cgroup
            container=test exec /lib/systemd/systemd --system --unit=try.target --show-status=no --log-target=console"""],
                                        stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr)
        self.move(self.was)
        atexit.register(self.end)
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"

        def child():
            with open(children, encoding="ascii") as f:
                return f.read().strip()
        self.pid = wait_for(child, 10, "systemd's process")
        wait_for(lambda: self.run("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"), 60, "systemd at work")

    @staticmethod
    def move(group):
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(os.getpid()))

    def run(self, *words, check=True):
        r = subprocess.run(["nsenter", "-t", self.pid, "-p", "-m", "-r", "-w", *words], capture_output=True, text=True, check=False)
        if check and r.returncode:
            raise SystemExit(f"{' '.join(words)}: {r.stdout}{r.stderr}")
        return r.stdout

    def main(self, unit):
        return self.run("systemctl", "show", "--property=MainPID", "--value", unit).strip()

    def end(self):
        self.process.kill()
        self.process.wait(20)
        for folder, _, _ in os.walk(self.group, topdown=False):
            wait_for(lambda path=folder: self.removed(path), 10, f"an end of {folder}")

    @staticmethod
    def removed(folder):
        try:
            os.rmdir(folder)
        except OSError:
            return False
        return True


def newer(deb):
    """The same package, of a later version."""
    work = tempfile.mkdtemp(dir="/var/tmp")     # systemd has a /tmp of its own
    run("dpkg-deb", "-R", deb, f"{work}/tree")
    run("sed", "-i", "s/^Version: .*/&+later/", f"{work}/tree/DEBIAN/control")
    run("dpkg-deb", "-b", "-Znone", "--root-owner-group", f"{work}/tree", f"{work}/later.deb")
    return f"{work}/later.deb"

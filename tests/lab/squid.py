# SPDX-License-Identifier: BSD-2-Clause
"""
squid.py - a real Squid in the lab.

    squid = Squid(lab, fqrs(), config="fqrs on\\nfqrs_link rate=2Mbit\\n").start()
    squid.json()["classes"]

fqrs() is the patched one: a directory to which squid-fqrs/build installed it, from $FAIRGATE_SQUID or wherever the build's cache has it.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request

from .lab import ROOT, LabError, Server, wait_for, whole_lines


def installed(variable, *arguments):
    """Where that Squid stands; LabError if it is not built."""
    if variable in os.environ:
        return os.environ[variable]
    r = subprocess.run([os.path.join(ROOT, "squid-fqrs", "build"), "--where", *arguments], capture_output=True, text=True)
    if r.returncode:
        raise LabError(r.stderr.strip())
    return r.stdout.strip()


def fqrs():
    return installed("FAIRGATE_SQUID", "5.7", "--lean")


def stock():
    """Without our patch, and built as ours is: what one costs can be compared with the other."""
    return installed("FAIRGATE_SQUID_STOCK", "5.7", "--lean", "--stock")


def debian():
    """Debian's own binary: what the patched one answers can be compared with what people run.  It has no pages and icons of its own."""
    return installed("FAIRGATE_SQUID_DEBIAN", "5.7", "--stock")


# Where a Squid built for tests has the sockets by which its processes speak with each other: the user that it runs as must get there and write there.
STATE = "/run/fairgate-squid/run/squid"

# Of several workers.  A kid that dies soon after its start again and again would not be started for an hour.
SEVERAL = "workers {workers}\ncache_mem 8 MB\nhopeless_kid_revival_delay 1 second\n"

# No site of a lab is known to the system's authorities, and to read them takes longer than the rest of a start.  What is told to helpers is by default the
# client's name, too, which is asked for at each connection whether there are helpers or not: in a lab nobody answers, and Squid walks all open questions
# for each new one, an eighth of its time.
BASE = """
visible_hostname lab
unique_hostname lab
http_access allow all
shutdown_lifetime 1 second
forwarded_for on
dns_nameservers {dns}
url_rewrite_extras "%>a"
store_id_extras "%>a"
max_filedescriptors 65536
pinger_enable off
icon_directory {prefix}/share/icons
error_directory {prefix}/share/errors/templates
mime_table {prefix}/etc/mime.conf.default
cache_effective_user proxy
cache_log {dir}/cache.log
pid_filename {dir}/squid.pid
coredump_dir {dir}
half_closed_clients off
server_persistent_connections on
tls_outgoing_options default-ca=off
logformat lab %ts.%03tu %>a %Ss/%03>Hs %<st %rm %ru %{{-}}>ha
"""

# For one that is built with sanitizers: they leave alone what Squid itself does as ever.  Leaks are not looked for: Squid leaves to the system
# what ends with the process.
UBSAN_SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "squid_ubsan.txt")
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:new_delete_type_mismatch=0:alloc_dealloc_mismatch=0:handle_abort=1:verify_asan_link_order=0",
    "UBSAN_OPTIONS": f"print_stacktrace=1:suppressions={UBSAN_SUPPRESSIONS}",
}


class Squid(Server):
    """workers: how many processes serve; with one there is no other process."""

    name = "squid"

    def __init__(self, lab, prefix, config="", name=None, intercept=False, cache=False, log=None, command_prefix=(), dns="127.0.0.1", env=None, pages=None,
                 workers=1):
        super().__init__(lab, name)
        self.workers = workers
        self.install, self.pages, self.config, self.intercept, self.cache, self.logged = prefix, pages or prefix, config, intercept, cache, log
        self.dns, self.env = dns, env or {}
        self.command_prefix = list(command_prefix)
        self.service = f"fg{os.getpid()}x{self.port}"
        self.extra_port = None

    def on(self, host):
        super().on(host)
        self.port, self.extra_port = 3128, 3129
        return self

    @property
    def binary(self):
        return os.path.join(self.install, "sbin", "squid")

    def configure(self):
        shutil.chown(self.dir, "proxy", "proxy")
        text = BASE.format(prefix=self.pages, dir=self.dir, dns=self.dns).replace("logformat lab %ts.%03tu %>a %Ss/%03>Hs %<st %rm %ru %{-}>ha\n", "")
        text += f"http_port {self.port}\n"
        if self.intercept:
            text += f"http_port {self.extra_port} intercept\n"
        unlinkd = os.path.join(self.install, "libexec", "unlinkd")
        if os.path.exists(unlinkd):
            text += f"unlinkd_program {unlinkd}\n"
        if not self.cache:
            text += "cache deny all\n"
        if self.workers > 1:
            text += SEVERAL.format(workers=self.workers)
        text += f"access_log stdio:{self.dir}/access.log logformat=lab\n" if self.logged else "access_log none\n"
        if self.logged:
            text = f"logformat lab {self.logged}\n" + text
        self.write("squid.conf", text + self.config)

    def environment(self):
        return {**SANITIZERS, **os.environ, **self.env}

    def argv(self):
        return [*self.command_prefix, self.binary, "-n", self.service, "--foreground" if self.workers > 1 else "-N", "-f", self.path("squid.conf")]

    def start(self, seconds=None):
        if self.workers > 1:
            os.makedirs(STATE, exist_ok=True)
            shutil.chown(STATE, "proxy", "proxy")
        return super().start(seconds or (40 if self.workers > 1 else 20))

    def stop(self, seconds=10):
        super().stop(seconds)
        if self.workers > 1:
            for path in (*glob.glob(f"{STATE}/{self.service}-*"), *glob.glob(f"/dev/shm/{self.service}-*")):      # of those that were killed
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def pid_of(self, kid):
        """The process of that number, or None; `kid` is as Squid calls it: squid-1, squid-disk-3."""
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError), open(path, "rb") as f:
                words = f.read().split(b"\0")
                if words[0] == f"({kid})".encode() and self.service.encode() in words:
                    return int(path.split("/")[2])
        return None

    def make_stores(self):
        """What cache_dir names, before the first start."""
        self.configure()
        done = subprocess.run([*self.prefix, self.binary, "-n", self.service, "-N", "-z", "-f", self.path("squid.conf")], capture_output=True, text=True, timeout=60,
                              env=self.environment())
        if done.returncode:
            raise LabError(f"squid -z: {done.stderr}{self.log_end()}")

    def parse(self, config):
        """squid -k parse of this configuration: (ok, what it said)."""
        self.config = config
        self.configure()
        r = subprocess.run([self.binary, "-k", "parse", "-n", self.service, "-f", self.path("squid.conf")], capture_output=True, text=True, timeout=60,
                           env=self.environment())
        return r.returncode == 0, r.stderr + r.stdout

    def reconfigure(self, config=None, seconds=20):
        """Gives it a new configuration while it runs, and waits until it has it."""
        if config is not None:
            self.config = config
        self.configure()
        with open(self.path("squid.conf")) as f:
            ports = sum(line.startswith("http_port ") for line in f)
        before = self.log().count("Reconfiguring Squid Cache")
        self.process.send_signal(1)

        def done():
            log = self.log().split("Reconfiguring Squid Cache")
            # Each port is opened anew after the configuration is read.
            return not self.alive() or (len(log) > before + 1 and log[-1].count("HTTP Socket connections at") >= ports)
        wait_for(done, seconds, "the reconfiguration")
        # Squid says so a moment before it is true.
        wait_for(lambda: not self.alive() or self.ready(), seconds, "the port open again")
        if not self.alive():
            raise LabError(f"squid ended while it was reconfigured:\n{self.log_end()}")

    def manager(self, page):
        """A page of the cache manager, from wherever the Squid runs."""
        url = f"http://{self.host}:{self.port}/squid-internal-mgr/{page}"
        if self.prefix:
            return subprocess.run([*self.prefix, "curl", "-sf", "--max-time", "10", url], capture_output=True, text=True, check=True).stdout
        with urllib.request.urlopen(url, timeout=10) as r:
            return r.read().decode()

    def json(self):
        return json.loads(self.manager("fqrs_json"))

    def ready(self):
        # Who listens for all workers may do so before each of them takes what comes.
        if self.workers > 1 and len(set(re.findall(r"kid(\d+)\| .*HTTP Socket connections at", self.log()))) < self.workers:
            return False
        if self.prefix:
            return subprocess.run([*self.prefix, "curl", "-s", "-o", "/dev/null", "--max-time", "1", f"http://{self.host}:{self.port}/"],
                                  capture_output=True).returncode == 0
        with socket.socket() as s:
            s.settimeout(1)
            return s.connect_ex((self.host, self.port)) == 0

    def log_files(self):
        return [self.output, self.path("cache.log")]

    def access(self):
        """Lines of access.log."""
        with open(self.path("access.log")) as f:
            return whole_lines(f.read())

# SPDX-License-Identifier: BSD-2-Clause
"""
httpd.py - real web servers in a Lab: Apache httpd as gateway or backend, nginx, PHP-FPM, haproxy.

    gateway = Httpd(lab, proxy=backend.url, load={"qos_drr": module()}, config="QosEngine On\n...").start()
    gateway.graceful(config="QosEngine Off\n")

Httpd writes a complete configuration of its own: nothing of /etc/apache2 is read.  It listens on 127.0.0.1 only, or on the host it is put on, and, started by root,
serves as www-data.
"""
import contextlib
import glob
import os
import re
import signal
import subprocess

from .lab import LabError, Server, module, wait_for, whole_lines

HTTPD = os.environ.get("HTTPD", "/usr/sbin/apache2")
HTTPD_MODULES = os.environ.get("HTTPD_MODULES", "/usr/lib/apache2/modules")
NOBODY = "www-data"
USUAL = ("authz_core", "mime", "dir", "alias", "env", "setenvif", "headers", "rewrite", "status", "proxy", "proxy_http", "proxy_fcgi")
# An end that nobody sent: asserts, crashes, what the sanitizers say.
CRASH = re.compile(r"exit signal (?!Killed|Terminated)|AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|Assertion|assertion")


# What httpd does among its own threads.
THREAD_SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "httpd_tsan.txt")


def sanitizer_environment():
    """What a sanitized module needs of the plain httpd that loads it."""
    needed = subprocess.run(["readelf", "-d", module()], capture_output=True, text=True, check=True).stdout
    if "libasan" in needed:
        # Leaks are not looked for: httpd's own pools end with the process.
        return {"LD_PRELOAD": libraries("libasan.so", "libubsan.so"), "ASAN_OPTIONS": "detect_leaks=0:handle_abort=1",
                "UBSAN_OPTIONS": "print_stacktrace=1"}
    if "libtsan" in needed:
        # A child of the prefork MPM ends in the handler of a signal, and all of httpd's own cleaning up is done there.
        return {"LD_PRELOAD": libraries("libtsan.so"), "TSAN_OPTIONS": f"suppressions={THREAD_SUPPRESSIONS}:report_signal_unsafe=0"}
    return None


def libraries(*names):
    return " ".join(subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip() for name in names)


def threads_of(pid):
    """(state, how often it has given up the processor) of each thread of a process."""
    threads = []
    for task in glob.glob(f"/proc/{pid}/task/*/status"):
        with contextlib.suppress(OSError), open(task) as f:
            said = dict(line.split(":", 1) for line in f)
            threads.append((said["State"].split()[0], int(said["voluntary_ctxt_switches"])))
    return threads


def compiled_in():
    text = subprocess.run([HTTPD, "-l"], capture_output=True, text=True, check=True).stdout
    return {m.removeprefix("mod_") for m in re.findall(r"(\w+)\.c", text)}


class Httpd(Server):
    """
    Apache httpd.

    mpm             event, worker or prefork
    children        processes; threads: each has so many (event, worker); spare: more processes may exist, for restarts
    async_factor    AsyncRequestWorkerFactor (event)
    htdocs          document root; proxy: forward everything to this URL; proxy_options: words of ProxyPass
    php             address of a PHP-FPM for *.php; cgi: *.cgi are run
    modules         more modules of the distribution, by name; load: {name: path} of others
    config          text at the end of the configuration; early: text before it, for what must come first
    access_log      a LogFormat; its lines are in access_log()
    """

    name = "httpd"

    def __init__(self, lab, name=None, mpm="event", children=2, threads=25, spare=4, async_factor=200, htdocs=None, proxy=None,
                 proxy_options="", php=None, cgi=False, modules=(), load=None, config="", early="", access_log=None, keep_alive=True,
                 keep_alive_timeout=60, timeout=60, log_level="warn", tls=None, environment=None):
        super().__init__(lab, name)
        self.mpm, self.children_wanted, self.threads, self.spare, self.async_factor = mpm, children, threads, spare, async_factor
        self.htdocs, self.proxy, self.proxy_options, self.php, self.cgi = htdocs, proxy, proxy_options, php, cgi
        self.modules, self.load, self.config, self.early = tuple(modules), dict(load or {}), config, early
        self.access_format, self.keep_alive, self.keep_alive_timeout, self.timeout = access_log, keep_alive, keep_alive_timeout, timeout
        self.log_level, self.tls, self.extra_environment = log_level, tls, environment
        self.config_file = self.path("httpd.conf")

    def processes_text(self):
        n, t = self.children_wanted, self.threads
        if self.mpm == "prefork":
            return (f"ServerLimit {n + self.spare}\nStartServers {n}\nMinSpareServers {n}\nMaxSpareServers {n + 1}\n"
                    f"MaxRequestWorkers {n}\n")
        text = (f"ServerLimit {n + self.spare}\nThreadLimit {t}\nThreadsPerChild {t}\nStartServers {n}\nMaxRequestWorkers {n * t}\n"
                f"MinSpareThreads {n * t}\nMaxSpareThreads {n * t + t}\n")
        return text + (f"AsyncRequestWorkerFactor {self.async_factor}\n" if self.mpm == "event" else "")

    def text(self):
        have = compiled_in()
        cgi = () if not self.cgi else ("cgi",) if self.mpm == "prefork" else ("cgid",)
        names = dict.fromkeys((f"mpm_{self.mpm}",) + USUAL + cgi + self.modules)
        lines = [f"ServerRoot {self.dir}", "ServerName 127.0.0.1", f"PidFile {self.path('httpd.pid')}", f"DefaultRuntimeDir {self.dir}",
                 f"Listen {self.address}" + (" https" if self.tls else ""), f"ErrorLog {self.path('error.log')}",
                 f"LogLevel {self.log_level}"]
        lines += [f"LoadModule {m}_module {HTTPD_MODULES}/mod_{m}.so" for m in names if m not in have]
        if os.geteuid() == 0:
            lines += [f"User {NOBODY}", f"Group {NOBODY}"]
        lines += ["ListenBacklog 4096", f"Timeout {self.timeout}", f"KeepAlive {'On' if self.keep_alive else 'Off'}",
                  "MaxKeepAliveRequests 0", f"KeepAliveTimeout {self.keep_alive_timeout}", "TypesConfig /etc/mime.types",
                  "DirectoryIndex index.html", "ServerTokens Prod", self.processes_text(), self.early]
        lines += [f"LoadModule {name}_module {path}" for name, path in self.load.items()]
        # All clients of a lab are programs on this host: by default their requests would be inner, and pass unscheduled.
        lines += ["QosSelf Off"] if "qos_drr" in self.load else []
        if self.access_format:
            escaped = self.access_format.replace('"', '\\"')
            lines.append(f'CustomLog {self.path("access.log")} "{escaped}"')
        htdocs = self.htdocs or self.dir
        lines += [f"DocumentRoot {htdocs}", f"<Directory {htdocs}>", "Require all granted", "AllowOverride None",
                  "Options FollowSymLinks" + (" ExecCGI" if self.cgi else ""), "</Directory>"]
        if self.cgi:
            lines += ["AddHandler cgi-script .cgi"] + ([f"ScriptSock {self.path('cgid.sock')}"] if self.mpm != "prefork" else [])
        if self.php:
            lines += ['<FilesMatch "\\.php$">', f'SetHandler "proxy:fcgi://{self.php}"', "</FilesMatch>"]
        if self.tls:
            lines += ["SSLEngine On", f"SSLCertificateFile {self.tls[0]}", f"SSLCertificateKeyFile {self.tls[1]}"]
        if self.proxy:
            # Not by ProxyPass /: pages that this server has itself, such as a status page, are to stay reachable.
            lines += ["ProxyPass /qos-status !", "ProxyPass /server-status !", f"ProxyPass / {self.proxy}/ {self.proxy_options}"]
        return "\n".join(lines + [self.config, ""])

    def configure(self):
        self.write("httpd.conf", self.text())

    def argv(self):
        return [HTTPD, "-d", self.dir, "-f", self.config_file, "-DFOREGROUND"]

    def environment(self):
        return {**os.environ, **self.extra_environment} if self.extra_environment else None

    def check(self):
        """(true if the configuration is accepted, what httpd says about it); the server need not run."""
        self.configure()
        r = subprocess.run([HTTPD, "-d", self.dir, "-f", self.config_file, "-t"], capture_output=True, text=True, env=self.environment())
        return r.returncode == 0, r.stdout + r.stderr

    def log_files(self):
        return [self.output, self.path("error.log")]

    def error_log(self):
        return self.log()

    def access_log(self):
        with open(self.path("access.log")) as f:
            return whole_lines(f.read())

    def stop(self, seconds=10):
        """
        When its threads rest: a child of the event MPM that is told to end looks at the sockets of its workers while one that has just closed its own gives the memory
        back, and crashes (2.4.71 without any module of ours too).
        """
        if self.alive() and self.mpm != "prefork":
            with contextlib.suppress(LabError):         # it may be under load
                wait_for(self.rests, 1, f"rest of {self.name}")
        super().stop(seconds)

    def rests(self):
        """No thread runs or could, and none has between two looks."""
        before = [threads_of(pid) for pid in self.children()]
        return before == [threads_of(pid) for pid in self.children()] and not any(state in "RD" for threads in before for state, _ in threads)

    def generations(self):
        """How often it has told that a configuration is in force."""
        return self.log().count("resuming normal operations")

    def graceful(self, config=None, seconds=20):
        """A graceful restart with this text in place of the former config, waited for; requests go on meanwhile."""
        if config is not None:
            self.config = config
        self.configure()
        before = self.generations()
        self.process.send_signal(signal.SIGUSR1)

        def renewed():
            if not self.alive():
                raise LabError(f"{self.name} ended at a graceful restart:\n{self.log_end()}")
            return self.generations() > before
        wait_for(renewed, seconds, f"graceful restart of {self.name}")
        return self


class PhpFpm(Server):
    """
    PHP-FPM with a fixed number of workers; Httpd(php=fpm.address) or nginx's fastcgi_pass lead to it.

    extensions      of the distribution, by name; php.ini is not read
    pool            more lines of the pool, as "env[NAME] = value"
    """

    name = "php-fpm"

    def __init__(self, lab, name=None, workers=4, program=None, extensions=(), pool=()):
        super().__init__(lab, name)
        self.workers, self.extensions, self.pool = workers, extensions, pool
        self.program = program or newest_fpm()

    def configure(self):
        user = f"user = {NOBODY}\ngroup = {NOBODY}\n" if os.geteuid() == 0 else ""
        self.write("fpm.conf", f"[global]\nerror_log = {self.path('error.log')}\ndaemonize = no\npid = {self.path('fpm.pid')}\n"
                   f"[www]\n{user}listen = {self.address}\nlisten.backlog = 4096\npm = static\npm.max_children = {self.workers}\n"
                   + "".join(f"{line}\n" for line in self.pool))

    def argv(self):
        return [self.program, "--nodaemonize", "--fpm-config", self.path("fpm.conf"), "-n", *self.words()]

    def words(self):
        """Of its command line, or of php's: extensions."""
        return [w for e in self.extensions for w in ("-d", f"{'zend_' if e == 'opcache' else ''}extension={e}")]

    def log_files(self):
        return [self.output, self.path("error.log")]


def newest_fpm():
    found = sorted(f for f in os.listdir("/usr/sbin") if re.fullmatch(r"php-fpm[0-9.]*", f))
    if not found:
        raise LabError("there is no php-fpm in /usr/sbin: install php-fpm")
    return os.path.join("/usr/sbin", found[-1])


class Nginx(Server):
    """nginx: htdocs as a backend, or proxy as a rival; server: text inside server {}, http: text inside http {}."""

    name = "nginx"

    def __init__(self, lab, name=None, workers=1, htdocs=None, proxy=None, php=None, server="", http=""):
        super().__init__(lab, name)
        self.workers, self.htdocs, self.proxy, self.php, self.server_text, self.http_text = workers, htdocs, proxy, php, server, http

    def configure(self):
        user = f"user {NOBODY};" if os.geteuid() == 0 else ""
        for d in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
            os.makedirs(self.path(d), exist_ok=True)
        where = ""
        if self.htdocs:
            where += f"root {self.htdocs};\n"
        if self.proxy:
            where += 'location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }\n'
        if self.php:
            where += (f"location ~ \\.php$ {{ fastcgi_pass {self.php}; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n"
                      "fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method; }\n")
        upstream = f"upstream backend {{ server {self.proxy.removeprefix('http://')}; keepalive 64; }}" if self.proxy else ""
        self.write("nginx.conf", f"""{user}
worker_processes {self.workers}; worker_rlimit_nofile 20000;
pid {self.path('nginx.pid')}; error_log {self.path('error.log')} warn; daemon off;
events {{ worker_connections 16384; }}
http {{
  types {{ text/html html; }} default_type text/plain; access_log off; sendfile on; tcp_nopush on;
  keepalive_requests 1000000000; keepalive_timeout 65;
  client_body_temp_path {self.path('body')}; proxy_temp_path {self.path('proxy')}; fastcgi_temp_path {self.path('fastcgi')};
  uwsgi_temp_path {self.path('uwsgi')}; scgi_temp_path {self.path('scgi')};
  {upstream}
  {self.http_text}
  server {{
    listen {self.address} backlog=4096; server_name _;
    {where}
    {self.server_text}
  }}
}}
""")

    def argv(self):
        return ["/usr/sbin/nginx", "-p", self.dir, "-c", self.path("nginx.conf"), "-e", self.path("error.log")]

    def log_files(self):
        return [self.output, self.path("error.log")]


class Haproxy(Server):
    """haproxy before one backend.  maxconn: requests at a time at the backend (0 = no limit); frontend: more lines for it; more: text after all."""

    name = "haproxy"

    def __init__(self, lab, name=None, proxy=None, threads=1, maxconn=0, frontend=(), more=""):
        super().__init__(lab, name)
        self.proxy, self.threads, self.maxconn, self.frontend, self.more = proxy, threads, maxconn, frontend, more

    def configure(self):
        limit = f" maxconn {self.maxconn}" if self.maxconn else ""
        rules = "\n".join("  " + line for line in self.frontend)
        self.write("haproxy.cfg", f"""global
  maxconn 9000
  nbthread {self.threads}
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  timeout queue 60s
frontend f
  bind {self.address}
{rules}
  default_backend b
backend b
  http-reuse always
  server s {self.proxy.removeprefix('http://')}{limit}
{self.more}""")

    def argv(self):
        return ["/usr/sbin/haproxy", "-db", "-f", self.path("haproxy.cfg")]

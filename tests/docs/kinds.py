# SPDX-License-Identifier: BSD-2-Clause
"""
kinds.py - the kinds of what stands in the docs to be copied, and how each is tried.

A kind is known by what its text looks like, and has a function that returns what is wrong with it, sentences; none if it is right.  Where all of a
network would be needed the part's own parser says whether it is right: httpd -t with the real modules, squid -k parse, the check of each command.  What
of a shell's commands can be run here is run, with files of its own in the place of the system's; of the rest program, subcommand, options, units,
packages and files must be there.
"""
import ast
import atexit
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from lab import squid as lab_squid
from parts import TOP, documents, parts_of

os.environ["PATH"] = PATH = "/usr/local/sbin:/usr/sbin:/sbin:" + os.environ["PATH"]
OURS = {"fairgate-policy": "policy", "fairgate-eeod": "mod_eeod", "fairgate-pktcache": "pktcache", "fairgate-prober": "prober", "fairgate-bots": "prober",
        "fairgate-ccnget": "ccnget", "fairgate-ccncall": "ccnget", "fairgate": "doctor"}
# What is not of Debian 12, or only on a machine that runs it: forwarders of named data, and systemd.
ABROAD = {"ndnd", "nfdc", "systemctl", "systemd-sysusers", "systemd-tmpfiles", "adduser", "apt", "squid", "squidclient", "squid-fqrs", "tcpdump"}
MODULES = ("qos_drr", "eeod", "ccn")
# Files that whoever writes such a line makes himself.
SOMEBODYS = {"/etc/fairgate/tester.json", "/etc/squid-fqrs/own.pem"}
# Of a module that Debian 12 has in a package that nothing else here needs.
NOT_HERE = "MaxMind"


def run(words, **kwargs):
    r = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, timeout=30, **kwargs)
    return r.returncode, r.stdout + r.stderr


def built():
    return pathlib.Path(os.environ["FAIRGATE_BUILD"])


def program(name):
    return built() / OURS[name] / name


@functools.lru_cache
def help_of(path):
    return run([path, "--help"])[1]


# ---- the files that a part names -----------------------------------------------------------------------------------------------------

@functools.lru_cache
def pattern_of_files():
    """What all have, made once."""
    at = pathlib.Path(tempfile.mkdtemp(prefix="docs-"))
    atexit.register(shutil.rmtree, at)
    for p in (TOP / "etc/examples").iterdir():
        shutil.copy(p, at)
    shutil.copy(TOP / "etc/policy-example.xml", at / "policy.xml")
    (at / "tester.json").write_text('{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}')
    (at / "access.log").write_text('192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 100 "-" "x"\n' * 3)
    (at / "paper.pdf").write_text("%PDF-1.4\n")
    (at / "visitors.key").write_text("0123456789abcdef" * 4 + "\n")
    subprocess.run([program("fairgate-pktcache"), "keygen", at / "pktcache.key"], check=True)
    subprocess.run([program("fairgate-prober"), "import", at / "pages"], input="http://h/\t5\t-\t-\t0\t0\t1\t0\t0\t0\t-\t-\n", text=True, check=True)
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=lab", "-keyout", at / "own.pem", "-out", at / "own.crt"])
    (at / "own.pem").write_text((at / "own.pem").read_text() + (at / "own.crt").read_text())
    for p in at.iterdir():
        os.chmod(p, 0o600 if p.suffix == ".key" else 0o644)
    return at


class Files:
    """The system's files as parts have them, here: made of what the docs and the examples have."""

    def __init__(self, part):
        self.at = pathlib.Path(tempfile.mkdtemp(prefix="docs-"))
        os.chmod(self.at, 0o755)
        shutil.copytree(pattern_of_files(), self.at, dirs_exist_ok=True)
        os.chmod(self.at, 0o755)
        own = [p.text for p in (parts_of(part.file, (TOP / part.file).read_text()) if part.file else []) if p.text.startswith(("<?xml", "<classification"))]
        if own:
            self.put("policy.xml", own[0])
        self.put("pktcache.conf", (TOP / "etc/pktcache-example.conf").read_text().replace("/etc/fairgate/pktcache.key", str(self.at / "pktcache.key")))

    def put(self, name, text):
        path = self.at / name
        path.write_text(text)
        os.chmod(path, 0o600 if "key" in name else 0o644)

    def here(self, word):
        """/etc/fairgate/policy.xml and its like, as they stand here."""
        return re.sub(r"/(?:etc/fairgate|etc/squid-fqrs|var/lib/fairgate(?:-bots)?|var/log/apache2)/(?=[\w.-]+)", f"{self.at}/", word)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.at)


@functools.lru_cache
def named_in_the_tree():
    """All that files of the product say; the docs do not vouch for themselves."""
    roots = ["etc", "prober", "pktcache", "doctor", "mod_qos_drr", "mod_ccn", "mod_eeod", "policy", "ccnget", "squid-fqrs", "debian", "samples", "packages"]
    text = []
    for root in roots:
        for p in sorted((TOP / root).rglob("*")):
            if p.is_file() and p.suffix not in (".md", ".png", ".o", ".lo", ".so") and ".deps" not in p.parts and ".libs" not in p.parts and p.stat().st_size < 400_000:
                text.append(p.read_text(encoding="utf-8", errors="replace"))
    return "\n".join(text)


def path_is_known(path):
    """A file of ours is named where it is used or made; one of the system is there, or its folder's package is another's."""
    if path.startswith(("/dev/", "/tmp/", "/path/", "/run/nfd/", "/etc/sysusers.d/", "/etc/tmpfiles.d/", "/etc/apt/")) or os.path.exists(path) or path in SOMEBODYS:
        return True
    folder, _, name = path.rstrip("/").rpartition("/")
    return path.rstrip("/") in named_in_the_tree() or folder == "/etc/fairgate" and (f"/{name}" in named_in_the_tree() or (TOP / "etc/examples" / name).exists())


# ---- a shell's commands --------------------------------------------------------------------------------------------------------------

def commands(text):
    """Each simple command of these lines, in words; what is redirected is the last word but one of its own."""
    found, now = [], []
    for line in text.replace("\\\n", " ").split("\n"):
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split, lexer.commenters = True, "#"
        for token in [*lexer, ";"]:
            if re.fullmatch(r"[();|&]+", token):
                if now:
                    found.append(now)
                now = []
            else:
                now.append(token)
    return found


def unwrapped(words):
    """What sudo, a network namespace or a variable of the environment leaves."""
    while words:
        if words[0] in ("sudo", "exec") or re.match(r"\w+=", words[0]):
            words = words[1:]
        elif words[:3] == ["ip", "netns", "exec"]:
            words = words[4:]
        else:
            break
    return words


def wrong_options(words, said, name):
    bad = [w for w in words if w.startswith("--") and not re.search(rf"(?<![\w-]){re.escape(w.split('=')[0])}(?![\w-])", said)]
    return [f"{name} --help does not know {w}" for w in bad]


def wrong_of_ours(words, files):
    name = words[0]
    said = help_of(program(name))
    wrong = wrong_options(words[1:], said, name)
    first = next((w for w in words[1:] if not w.startswith("-")), "")
    subcommands = set(re.findall(rf"^(?:usage:|      ) {name} ([a-z]+)\b", said, re.M))
    if subcommands and not words[1].startswith("--") and words[1] not in subcommands:
        wrong.append(f"{name} has no subcommand {words[1]}")
    if name == "fairgate":
        wrong += [f"fairgate doctor has no part {w}" for w in words[2:] if not w.startswith("--") and w not in re.search(r"PART +([a-z, ]+)", said)[1].replace(",", " ").split()]
    if wrong:
        return wrong
    if (name, first) in {("fairgate-policy", "check"), ("fairgate-policy", "explain"), ("fairgate-policy", "replay"), ("fairgate-pktcache", "check"), ("fairgate-pktcache", "keygen")}:
        (files.at / "pktcache.key").unlink() if first == "keygen" and "--rotate" not in words else None
        status, told = run([program(name), *map(files.here, words[1:])], cwd=files.at)
        return [f"{shlex.join(words)} says {told!r}"] if status else []
    if name == "fairgate-ccncall" and "--list" not in words:
        rest = [w for i, w in enumerate(words[1:]) if w != "--http" and words[i] != "--http"]
        status, told = run([program(name), "--show-name", *rest], cwd=files.at)
        return [f"{shlex.join(words)} says {told!r}"] if status else []
    return []


def wrong_sed(words, path):
    status, told = run([*(w for w in words[:-1] if w != "-i"), path])
    return [] if status == 0 and told != path.read_text() else [f"{shlex.join(words)} changes nothing"]


def wrong_unit(word, made):
    """made: what the commands before it have copied."""
    unit = word if "." in word else word + ".service"
    name = re.sub(r"@[^.]+\.", "@.", unit)
    if any((TOP / "etc/systemd" / f).exists() for f in (name, name + ".in")) or word in ("apache2", "squid") or f"/etc/systemd/system/{name}" in made:
        return []
    return [f"there is no unit {word}"]


@functools.lru_cache
def packages():
    """Those of debian/control, and Squid's, which packages/build makes of another source."""
    built = re.search(r"^ +SOURCE +fairgate or (\S+)", (TOP / "packages/build").read_text(), re.M)
    return set(re.findall(r"^Package: (\S+)", (TOP / "debian/control").read_text(), re.M)) | {built[1]}


def wrong_command(words, files, made=()):
    wrong = []
    whole = words
    words = [w for i, w in enumerate(words) if not re.fullmatch(r"\d?[<>]+", w) and not (i and re.fullmatch(r"\d?>+", words[i - 1]))]
    name = words[0] if words else ""
    wrong += [f"no file {w} is named in the product" for w in whole if re.fullmatch(r"/(?:etc|var|usr|run)/[\w./@-]+", w) and not path_is_known(w)]
    wrong += [f"there is no {w}" for w in words if re.match(r"(?:\./)?(?:etc|squid-fqrs|samples|docs|bench|tests)/", w) and not (TOP / w).exists() and not (TOP / (w + ".in")).exists()]
    if name in OURS:
        return wrong + wrong_of_ours(words, files)
    if name == "fairgate-transparent":
        said = help_of(TOP / "etc/iptables/fairgate-transparent")
        return wrong + [f"{name} has no setting {w}" for w in words if w.startswith("--") and not re.search(rf"^  {w[2:]} ", said, re.M)] + \
            ([] if {"start", "stop", "status"} & set(words) else [f"{name} is told nothing to do"])
    if name == "./quickstart":
        said = help_of(TOP / "quickstart")
        return wrong + [f"quickstart knows no {w}" for w in words[1:] if not re.search(rf"(?:^  |\[|\|){re.escape(w)}\b", said, re.M)]
    if name.endswith("squid-fqrs/build"):
        said = help_of(TOP / "squid-fqrs/build")
        return wrong_options(words[1:], said, name) + ([] if words[1] in ("5.7", "6.13", "7.7") else [f"there is no patch for Squid {words[1]}"])
    if name == "apt":
        return wrong + [f"there is no package {w}" for w in words[2:] if w not in packages() | {"squid"}] + ([] if words[1] in ("install", "remove", "purge", "update") else [f"apt {words[1]}?"])
    if name == "sed":       # changes a file of the packages
        path = TOP / "debian" / words[-1].replace("/etc/apache2/mods-available/", "apache2/")
        return wrong_sed(words, path) if path.exists() else [f"no package has {words[-1]}"]
    if name in ("a2enmod", "a2dismod"):
        return wrong + [f"there is no module {w}" for w in words[1:] if w not in MODULES and not pathlib.Path(f"/etc/apache2/mods-available/{w}.load").exists()]
    if name in ("a2ensite", "a2dissite"):
        told = "\n".join(p.read_text() for p in documents())
        return wrong + [f"nothing says what the site {w} is" for w in words[1:] if f"sites-available/{w}.conf" not in told]
    if name == "systemctl":
        verbs = [w for w in words[1:] if not w.startswith("-")]
        if verbs[0] not in ("daemon-reload", "enable", "disable", "restart", "reload", "start", "stop", "edit"):
            return wrong + [f"systemctl has no {verbs[0]}"]
        return wrong + [x for w in verbs[1:] for x in wrong_unit(w, made)]
    if name in ("squid-fqrs", "squid"):
        return wrong + ([] if words[1] == "-k" and re.search(rf"\b{words[2]}\b", help_of(squid_program())) else [f"{name} knows no {words[1:]}"])
    if name == "openssl":
        status, told = run(words)
        return wrong + ([] if status == 0 else [told])
    if name == "curl":
        known = curl_help()
        return wrong + [f"curl has no {w}" for w in words[1:] if w.startswith("--") and not re.search(rf"(?<![\w-]){w}\b", known)]
    if name not in ("umask", "cd") and name not in ABROAD and not shutil.which(name, path=PATH):
        wrong.append(f"there is no program {name}")
    return wrong


@functools.lru_cache
def squid_program():
    return pathlib.Path(lab_squid.fqrs()) / "sbin/squid"


@functools.lru_cache
def curl_help():
    return run(["curl", "--help", "all"])[1]


def shell(part):
    status, told = run(["sh", "-n", "-c", part.text])
    if status:
        return [told]
    found = [unwrapped(words) for words in commands(part.text) if unwrapped(words)]
    made = {words[-1] for words in found if words[0] in ("cp", "install")}
    with Files(part) as files:
        return [x for words in found for x in wrong_command(words, files, made)]


def is_shell(text):
    if re.search(r"^\$ ", text, re.M) or "<" == text[:1]:
        return False
    try:
        found = [unwrapped(w) for w in commands(text)]
    except ValueError:
        return False
    starts = {*OURS, "fairgate-transparent", "./quickstart", "./squid-fqrs/build", "squid-fqrs/build", *ABROAD, "a2enmod", "a2dismod", "a2ensite", "a2dissite", "apachectl", "cp", "curl",
              "echo", "install", "tee", "ip", "make", "mkdir", "chown", "umask", "openssl", "ethtool", "apache2", "sed"}
    return bool(found) and all(w and w[0] in starts for w in found) and not re.match(r"install\s+\w+=", text)


# ---- sessions and sentences ----------------------------------------------------------------------------------------------------------

def is_session(text):
    return text.startswith("$ ")


def session(part):
    """It says what it says, to the letter."""
    wrong = []
    with Files(part) as files:
        for command, told in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", part.text + "\n", re.M):
            words = shlex.split(command)
            said = run([program(words[0]), *words[1:]], cwd=files.at)[1].strip()
            if said != told.strip():
                wrong.append(f"{command} says {said!r}")
    return wrong


def is_error(text):
    return bool(re.match(r"policy\.xml:\d+: ", text)) and "\n" not in text


def error(part):
    """A policy that is wrong so, at that line, is refused with that sentence."""
    m = re.match(r'policy\.xml:(\d+): "([^"]+)"', part.text)
    line, pattern = int(m[1]), m[2]
    with Files(part) as files:
        files.put("policy.xml", "\n".join(["<classification>", '<class id="1" quantum="1">', *[""] * (line - 3), f"<src_ip_addr>{pattern}</src_ip_addr>", "</class>", "</classification>"]))
        said = run([program("fairgate-policy"), "check", "policy.xml"], cwd=files.at)[1].strip()
    return [] if said == part.text else [f"it says {said!r}"]


# ---- configurations ------------------------------------------------------------------------------------------------------------------

def is_policy(text):
    return bool(re.match(r"<\?xml|<classification|<class |<exempt", text))


def policy(part):
    text = part.text if re.match(r"<\?xml|<classification", part.text) else f"<classification>\n{part.text}\n</classification>"
    with Files(part) as files:
        files.put("policy.xml", text)
        status, said = run([program("fairgate-policy"), "check", files.at / "policy.xml"])
    return [said] if status else []


BASE_MODULES = ("mpm_event", "authn_core", "authz_core", "authz_host", "alias", "dir", "env", "mime", "setenvif", "headers", "rewrite", "proxy", "proxy_http", "actions",
                "socache_shmcb", "socache_redis", "remoteip", "reqtimeout")


def server(at, without=()):
    """The beginning of a configuration: modules that examples use, and ours from the build."""
    return [f"ServerRoot {at}", f"PidFile {at}/pid", f"DefaultRuntimeDir {at}", "ServerName localhost", f"ErrorLog {at}/error", "User www-data", "Group www-data",
            *(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so" for m in BASE_MODULES),
            *(f"LoadModule {m}_module {built()}/mod_{m}/.libs/mod_{m}.so" for m in MODULES if m not in without)]


@functools.lru_cache
def httpd_directives():
    """Those of httpd and of its modules that examples use, and ours."""
    with tempfile.TemporaryDirectory() as at:
        path = pathlib.Path(at) / "httpd.conf"
        path.write_text("\n".join([*server(at), "Listen 127.0.0.1:81", ""]))
        said = run(["apache2", "-L", "-f", path])[1]
    words = {w.lower() for w in re.findall(r"^(<?\w+) \(", said, re.M)}
    assert len(words) > 200, f"{len(words)} directives"
    return words | {"maxminddbenable", "maxminddbfile", "maxminddbenv"}


def is_httpd(text):
    lines = [x.strip() for x in text.split("\n") if x.strip() and not x.strip().startswith("#")]
    words = [re.match(r"</?\w+|\S+", x)[0].replace("</", "<").lower() for x in lines]
    return bool(words) and all(w in httpd_directives() for w in words) and not is_grammar(text)


def httpd(part):
    """httpd -t, with what else the part needs of a server around it."""
    with Files(part) as files:
        text = "\n".join(x for x in part.text.split("\n") if not x.strip().startswith(NOT_HERE))
        for word in re.findall(r"(?<!\w)/(?:etc|var/lib)/[\w./-]+", text):
            if not path_is_known(word):
                return [f"no file {word} is named in the product"]
        text = ("" if "Include" not in text else f"Define FAIRGATE_ETC {files.at}\n") + files.here(re.sub(r"/usr/lib/apache2/modules/mod_(\w+)\.so", lambda m: f"{built()}/mod_{m[1]}/.libs/mod_{m[1]}.so", text))
        (files.at / "table").write_text((TOP / "etc/bots-example.conf").read_text()) if "QosBots" in text else None
        if "QosBots" in text:
            write_bots(files)
        inside = re.search(r"^CcnService", text, re.M)
        if inside:
            text = f"<VirtualHost *:81>\nCcnEngine On\nCcnMap /a /\n{text}\n</VirtualHost>"
        classes = {c for c in re.findall(r"^\s*QosRule\s+(\S+)", text, re.M)} - set(re.findall(r"^\s*QosClass\s+(\S+)", text, re.M))
        head = [*server(files.at, [m for m in MODULES if f"{m}_module" in text]), f"DocumentRoot {files.at}"]
        if not re.search(r"^Listen ", text, re.M):
            head.append("Listen 127.0.0.1:81")
        tail = [f"QosClass {c} weight=1" for c in sorted(classes)]
        text = text.replace("DocumentRoot /var/www/html", f"DocumentRoot {files.at}")
        (files.at / "httpd.conf").write_text("\n".join([*head, *tail, text, ""]))
        status, said = run(["apache2", "-t", "-f", files.at / "httpd.conf"])
        bad = [x for x in said.split("\n") if re.search(r"\[(?:\w+:)?(?:error|crit|alert|emerg)\]|Syntax error|Invalid command", x)]
    return [said] if status or bad or "Syntax OK" not in said else []


def write_bots(files):
    """A table as fairgate-bots would have fetched it, of a list on the disk."""
    files.put("bots.conf", f"googlebot {files.at}/list\nbingbot {files.at}/list2\n")
    files.put("list", "66.249.64.0/27\n")
    files.put("list2", "157.55.39.0/24\n")
    (files.at / "table").unlink(missing_ok=True)
    status, said = run([program("fairgate-bots"), "fetch", "--config", files.at / "bots.conf", "--table", files.at / "table", "--user", "root", "--quiet"])
    assert status == 0, said


@functools.lru_cache
def fqrs_directives():
    return set(re.findall(r"^NAME: (.*)$", "\n".join(p.read_text(errors="replace") for p in (TOP / "squid-fqrs/patches").rglob("*") if p.is_file()).replace("+NAME", "NAME"), re.M))


def is_squid(text):
    lines = [x.strip() for x in text.split("\n") if x.strip()]
    words = {"acl", "http_port", "https_port", "ssl_bump", "logformat", "http_access", "collapsed_forwarding", "workers"}
    return bool(lines) and all(x.split()[0] in words or re.match(r"fqrs(_\w+)? ", x) for x in lines)


def squid(part):
    text = part.text
    prefix = squid_program().parents[1]
    with Files(part) as files:
        (files.at / "squid.conf").write_text(f"{files.here(text)}\nhttp_port 3128\nvisible_hostname lab\npid_filename {files.at}/pid\ncache_log {files.at}/cache.log\n"
                                             f"access_log none\nlogfile_daemon /bin/true\nicon_directory {prefix}/share/icons\nmime_table {prefix}/etc/mime.conf.default\n"
                                             f"error_directory {prefix}/share/errors/templates\ncoredump_dir {files.at}\n")
        status, said = run([squid_program(), "-k", "parse", "-f", files.at / "squid.conf"])
    bad = [x for x in said.split("\n") if re.search(r"FATAL|ERROR|unrecognized", x) and "Can't open" not in x]
    return bad or ([said[-600:]] if status else [])


@functools.lru_cache
def pktcache_words():
    return set(re.findall(r'^SETTING\(\w+, \w+, "(\S+)"', (TOP / "pktcache/pk_settings.def").read_text(), re.M))


def is_pktcache(text):
    return all(x.split()[0] in pktcache_words() for x in text.split("\n") if x.strip()) and len(text.split("\n")) > 1


def pktcache(part):
    with Files(part) as files:
        files.put("pktcache.conf", files.here(part.text))
        status, said = run([program("fairgate-pktcache"), "check", files.at / "pktcache.conf"])
    return [said] if status else []


def is_cron(text):
    return bool(re.match(r"(?:[\d*/,-]+ +){5}\S", text)) and "\n" not in text


def cron(part):
    """Five fields that are times, and a command whose file is one of the repository's, wherever that was put."""
    *fields, command = part.text.split(None, 5)
    wrong = [f"{f} is above {most}" for f, most in zip(fields, (59, 23, 31, 12, 7)) for n in re.findall(r"\d+", f) if int(n) > most]
    own = re.sub(r"^/\S*?/(?=squid-fqrs/|quickstart )", "./", command)
    return wrong + shell(part._replace(text=own))


def is_unit(text):
    return bool(re.match(r"\[(?:Unit|Service|Timer|Install)\]\n", text))


def unit(part):
    """systemd reads it, beside a service that starts nothing."""
    wrong = []
    for line in re.findall(r"^ExecStart\w*=(.*)$", part.text, re.M):
        words = shlex.split(line)
        wrong += [x for x in run(["sh", "-n", "-c", words[2]])[1].split("\n") if x] if words[:2] == ["/bin/sh", "-c"] else []
    # Where ours are built, they stand elsewhere.
    text = re.sub(r"/usr/s?bin/(fairgate[\w-]*)", lambda m: str(program(m[1])) if m[1] in OURS else m[0], part.text)
    with Files(part) as files:
        path = files.at / "docs-part.service"
        for words in map(shlex.split, re.findall(r"^ExecStart\w*=/usr/s?bin/(fairgate.*)$", part.text, re.M)):
            wrong += wrong_of_ours(words, files)
        path.write_text("[Service]\nType=oneshot\nExecStart=/bin/true\n" + text + "\n")
        status, said = run(["systemd-analyze", "verify", "--man=no", path])
    return wrong + [x for x in said.split("\n") if "docs-part" in x]


def is_prober_site(text):
    return bool(re.match(r"SITE=\S+\nOPTIONS=.*\Z", text))


def prober_site(part):
    """/etc/fairgate/prober: the words that fairgate-prober.service takes from it."""
    said = dict(line.split("=", 1) for line in part.text.splitlines())
    with Files(part) as files:
        return wrong_of_ours(["fairgate-prober", "crawl", "--table", "/var/lib/fairgate/pages", *said["OPTIONS"].split(), said["SITE"]], files)


def is_promql(text):
    return bool(re.match(r"(?:sum|rate|increase|histogram_quantile)\b.*\bfairgate_", text)) and "\n" not in text


def promql(part):
    wrong = []
    with Files(part) as files:
        (files.at / "rules.yml").write_text(json.dumps({"groups": [{"name": "a", "rules": [{"record": "a", "expr": part.text}]}]}))
        status, said = run(["promtool", "check", "rules", files.at / "rules.yml"])
    known = set(re.findall(r'RS_FIGURE\(\w+, "(\w+)"', (TOP / "core/rs_figures.def").read_text()))
    wrong += [f"there is no figure fairgate_class_{name}" for name in re.findall(r"fairgate_class_(\w+)", part.text) if name not in known]
    return wrong + ([said] if status else [])


# ---- what is no command and no configuration -----------------------------------------------------------------------------------------

def is_drawing(text):
    return "──" in text or "══" in text


def drawing(part):
    """Names of files in it are such of the tree."""
    return [f"nothing is called {w}*" for w in re.findall(r"(\w+_)\*", part.text) if not list((TOP / "core").glob(w + "*.c"))]


def is_page(text):
    return "<!--EEOD" in text


def page(part):
    """Marks as they arrive are in order; what is PHP or Python is that."""
    wrong = []
    lines = [re.sub(r"\s{8,}[A-Z][A-Za-z, ]+$", "", x) for x in part.text.split("\n")]
    text = "\n".join(lines)
    if "<?=" in text or text.startswith("$"):
        status, said = run(["php", "-l"], input="<?php " + text.replace("\n", " ?>\n", 1) + "\n" if text.startswith("$") else text)
        wrong += [said] if status else []
    if "environ.get(" in text:
        try:
            ast.parse(text)
        except SyntaxError as e:
            wrong.append(str(e))
    arrives = re.sub(r"<!--(/?)EEOD (?:K|<\?= \$k \?>|\{k\}|\{\{ k \}\})-->", r"<!--\1EEOD-->", text)
    status, said = run([program("fairgate-eeod"), "check", "-"], input=arrives)
    return wrong + ([said] if status else []) + ([] if "<!--EEOD-->" in arrives else ["its marks have no key that is known"])


def is_json(text):
    return text.startswith("{")


def problem(part):
    """A problem as service/ has it."""
    try:
        told = json.loads(part.text)
    except ValueError as e:
        return [str(e)]
    kinds = (TOP / "service/service_problem.def").read_text()
    name = told["type"].rpartition(":")[2]
    m = re.search(rf'"{name}".*', kinds)
    return [] if m and told["title"] in kinds and str(told["status"]) in m[0] else [f"service_problem.def has no {name} with {told['status']} and {told['title']!r}"]


def is_call(text):
    return bool(re.match(r"/[\w/]+/!\{", text)) and "\n" not in text


def call(part):
    status, said = run([program("fairgate-ccncall"), "--show-name", part.text])
    return [said] if status else []


def is_grammar(text):
    return bool(re.match(r"\w+ [A-Z]+ ", text)) and "..." in text


def grammar(part):
    """A directive's words: its name, and each option that is named elsewhere is taken by it."""
    name = part.text.split()[0]
    return [] if name.lower() in httpd_directives() else [f"there is no directive {name}"]


def is_fields(text):
    return all(re.match(r"[A-Z][\w-]+: \S", x) for x in text.split("\n"))


def fields(part):
    """Fields of HTTP: those of ours are read somewhere."""
    source = "\n".join(p.read_text() for d in ("mod_ccn", "mod_eeod", "mod_qos_drr", "ccnget", "ndn") for p in sorted((TOP / d).glob("*.[ch]")))
    return [f"nothing reads {name}" for name in re.findall(r"^((?:Ccn|Eeod|Fairgate)-[\w-]+):", part.text, re.M) if name.lower() not in source.lower()]


# The first that knows a text tries it.
KINDS = {"session": (is_session, session), "error": (is_error, error), "policy": (is_policy, policy), "page": (is_page, page), "drawing": (is_drawing, drawing), "problem": (is_json, problem),
         "call": (is_call, call), "cron": (is_cron, cron), "unit": (is_unit, unit), "prober_site": (is_prober_site, prober_site), "promql": (is_promql, promql), "grammar": (is_grammar, grammar), "fields": (is_fields, fields),
         "squid": (is_squid, squid), "httpd": (is_httpd, httpd), "pktcache": (is_pktcache, pktcache), "shell": (is_shell, shell)}


def kind_of(part):
    return next((name for name, (looks, _) in KINDS.items() if looks(part.text)), None)


def wrong_with(part):
    kind = kind_of(part)
    return KINDS[kind][1](part) if kind else ["no test for this block: tests/docs/kinds.py knows no kind that it is of"]

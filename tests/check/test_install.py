# SPDX-License-Identifier: BSD-2-Clause
"""What "make install" puts under another prefix: units start what is there, examples are right as the programs that read them say, and no path is left that is of elsewhere."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "/opt/elsewhere"
UNITS = {"fairgate-bots.service", "fairgate-door@.service", "fairgate-pktcache@.service", "fairgate-pktcache-console.service", "fairgate-prober.service", "fairgate-transparent.service", "fairgate-transparent-site.service"}
COMMANDS = ("fairgate-bots", "fairgate-ccncall", "fairgate-ccnget", "fairgate-eeod", "fairgate-pktcache", "fairgate-policy", "fairgate-prober")
MODULES = "/usr/lib/apache2/modules"


@pytest.fixture(scope="module")
def stage(build, tmp_path_factory):
    """Where it is; PREFIX stands in it.  Nothing is linked anew for that: no library of ours is shared."""
    stage = tmp_path_factory.mktemp("stage")
    stage.chmod(0o755)
    said = subprocess.run(["make", "-s", "-C", build, "install", f"DESTDIR={stage}", f"prefix={PREFIX}", f"sysconfdir={PREFIX}/etc", f"HTTPD_MODULEDIR={PREFIX}/modules"], capture_output=True,
                          text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return stage


@pytest.fixture(scope="module")
def there(stage):
    return stage / PREFIX[1:]


def words(command, **kwargs):
    r = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    return r.returncode, r.stdout + r.stderr


def test_nothing_is_put_elsewhere(stage):
    assert [p.name for p in stage.iterdir()] == ["opt"]


def test_what_units_start_is_there(stage, there):
    folder = there / "lib/systemd/system"
    units = {p.name: p.read_text() for p in folder.iterdir()}
    assert {name for name in units if name.endswith(".service")} == UNITS
    for name, text in units.items():
        started = re.findall(r"^Exec\w+=[-@+!:]*(\S+)", text, re.MULTILINE)
        assert started or name.endswith(".timer"), name
        for program in started:
            assert program == "/bin/kill" or os.access(stage / program[1:], os.X_OK), f"{name}: {program}"
        settings = re.findall(r"--config (\S+)|--%i (\S+)", text)
        assert all((a or b).startswith(f"{PREFIX}/etc/fairgate/") for a, b in settings), settings
        users = re.findall(r"^User=(\S+)", text, re.MULTILINE)
        for user in users:
            assert re.search(rf"^u {user} ", (there / "lib/sysusers.d" / f"{user}.conf").read_text(), re.MULTILINE)


def test_what_is_installed_runs(there):
    for name in COMMANDS:
        place = there / ("sbin" if name == "fairgate-pktcache" else "bin") / name
        status, said = words([place, "--version"])
        assert status == 0 and said.startswith(name + " "), said
    for name in ("fairgate-door", "fairgate-transparent"):
        assert words([there / "sbin" / name, "--help"])[0] == 0


def test_jobs_find_what_they_run(stage, there):
    for job in (there / "share/doc/fairgate/examples/cron.d").iterdir():
        text = job.read_text()
        path = re.search(r"^PATH=(.*)", text, re.MULTILINE).group(1).split(":")
        program = re.search(r"^#?[0-9*].*?  \S+  (\S+) ", text, re.MULTILINE).group(1)
        assert any(os.access(stage / p[1:] / program, os.X_OK) for p in path), text


def test_no_path_is_of_elsewhere(there):
    """Documents tell what packages of Debian have; what is read or run tells what is here."""
    for path in there.rglob("*"):
        if not path.is_file() or path.suffix in (".so", ".la") or path.parent.name == "fairgate" and path.suffix == ".md":
            continue
        text = path.read_bytes()
        if text.startswith(b"\x7fELF"):
            continue
        # A search path of a shell script may name both.
        lines = [line for line in text.decode().splitlines() if re.search(r"/usr/local|@[a-z]+dir@|(?<!elsewhere)/etc/fairgate|/usr/lib/apache2|/usr/lib/fairgate", line)
                 and "PATH=" not in line]
        assert lines == [], path


def test_examples_are_right(there):
    examples = there / "share/doc/fairgate/examples"
    for program, files in (("bin/fairgate-policy", ("policy-example.xml", "sites/policy.xml")), ("bin/fairgate-bots", ("bots-example.conf",)),
                           ("sbin/fairgate-pktcache", ("pktcache-example.conf",))):
        status, said = words([there / program, "check", *(examples / file for file in files)])
        assert status == 0 and said.count("right") >= len(files), said


LOADED = ("mpm_event", "authz_core", "authz_host", "alias", "mime", "dir", "env", "proxy", "proxy_http", "proxy_fcgi", "cgid", "log_config", "setenvif", "rewrite", "reqtimeout")
WHOLE = ("httpd-example.conf", "httpd-ccn-example.conf", "httpd-services-example.conf", "sites/static.conf", "sites/php-fpm.conf", "sites/reverse-proxy.conf",
         "sites/virtual-hosts.conf")


@pytest.mark.parametrize("name", WHOLE)
def test_httpd_takes_the_examples(stage, there, tmp_path, name):
    """As they are but for where the stage is; with the modules that were installed with them."""
    tmp_path.chmod(0o755)
    etc = tmp_path / "etc"
    shutil.copytree(there / "share/doc/fairgate/examples", etc)
    for file in etc.rglob("*.conf"):
        file.write_text(file.read_text().replace(PREFIX, str(there)))
    sites = etc / "sites"
    (sites / "visitors.key").write_text("5e" * 32 + "\n")
    (sites / "visitors.key").chmod(0o600)
    built_in = set(re.findall(r"mod_(\w+)\.c", words(["apache2", "-l"])[1]))
    config = tmp_path / "httpd.conf"
    config.write_text("\n".join([f"ServerRoot {tmp_path}", "ServerName 127.0.0.1", "Listen 127.0.0.1:1", f"PidFile {tmp_path}/pid", f"ErrorLog {tmp_path}/log", f"DefaultRuntimeDir {tmp_path}",
                                 *(f"LoadModule {m}_module {MODULES}/mod_{m}.so" for m in LOADED if m not in built_in), "TypesConfig /etc/mime.types", "User nobody", "Group nogroup",
                                 f"Define FAIRGATE_ETC {sites}", f"Define SITE_ROOT {tmp_path}", f"Define SITES_ROOT {tmp_path}", f"Include {etc}/{name}", ""]))
    status, said = words(["apache2", "-d", tmp_path, "-f", config, "-t"])
    assert status == 0 and "Syntax OK" in said, said


@pytest.mark.parametrize("shell", ("bash", "zsh"))
@pytest.mark.parametrize("typed, offered", (("fairgate-policy ", {"check", "explain", "replay"}), ("fairgate-policy explain --src", {"--src", "--src-port", "--src-name"}),
                                            ("fairgate-prober cr", {"crawl"}), ("fairgate-pktcache --p", {"--parent", "--prometheus"}), ("fairgate ", {"doctor"}),
                                            ("fairgate doctor --q", {"--quiet"}), ("fairgate-door s", {"shut", "status"}),
                                            ("fairgate-transparent ", {"start", "stop", "status"})))
def test_completion(there, tmp_path, shell, typed, offered):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    path = f"{there}/bin:{there}/sbin:{os.environ['PATH']}"
    command = typed.split(" ")
    if shell == "bash":
        script = (f'. "{there}/share/bash-completion/completions/{command[0]}"; COMP_WORDS=({" ".join(command[:-1])} "{command[-1]}"); COMP_CWORD={len(command) - 1}; '
                  f'_fairgate {command[0]}; printf "%s\\n" "${{COMPREPLY[@]}}"')
    else:       # what the functions of its completion system would be asked for
        script = (f'compadd() {{ print -rl -- ${{(M)found:#$PREFIX*}} }}; _files() {{ : }}; _call_program() {{ shift; "$@" }}; words=({" ".join(command[:-1])} "{command[-1]}"); '
                  f'CURRENT={len(command)}; PREFIX="{command[-1]}"; f() {{ . {there}/share/zsh/site-functions/_fairgate }}; f')
    status, said = words([shell, "-c", script] if shell == "bash" else ["zsh", "-f", "-c", script], env={**os.environ, "PATH": path}, cwd=tmp_path)
    assert status == 0 and set(said.split()) == offered, said

# SPDX-License-Identifier: BSD-2-Clause
"""Every command, file and module has a manual, which a reader of manuals finds and that says nothing which its renderers have to guess at."""
import fnmatch
import pathlib
import re
import shutil
import subprocess

import pytest
from kinds import OURS, help_of, program
from parts import TOP

PAGES = [row.split()[0] for row in (TOP / "manual/pages").read_text().splitlines() if row and row[0] != "#"]
SETTINGS = {"fairgate-pktcache.conf.5": ("pktcache/pk_settings.def", ""), "fairgate-prober.1": ("prober/settings.def", "--"), "fairgate-bots.1": ("prober/bots_settings.def", "--"),
            "fairgate-ccnget.1": ("ccnget/get_settings.def", "--"), "fairgate-ccncall.1": ("ccnget/call_settings.def", "--")}


def run(*words, **kwargs):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **kwargs)


@pytest.fixture(scope="session")
def staged(build, tmp_path_factory):
    """make install, of manuals alone, and the index that man-db makes of them."""
    root = tmp_path_factory.mktemp("staged")
    r = run("make", "-C", build / "manual", "install-man", f"DESTDIR={root}", "mandir=/man")
    assert r.returncode == 0, r.stderr
    for p in [root, *root.rglob("*")]:
        p.chmod(0o755 if p.is_dir() else 0o644)
    root.parent.chmod(0o755)
    r = run("mandb", "-q", "-c", "-u", root / "man", env={"PATH": "/usr/bin:/bin", "MANPATH": str(root / "man"), "LC_ALL": "C.UTF-8"})
    assert r.returncode == 0, r.stderr
    return root / "man"


def page(staged, name):
    return staged / f"man{name.rsplit('.', 1)[1]}" / name


def shown(path):
    """As a terminal shows it."""
    r = run("man", "--warnings", "-l", path, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": "", "HOME": "/"})
    return r.stdout, r.stderr


def apropos(staged, word):
    return run("apropos", "-M", staged, word, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}).stdout


def test_all_are_installed(staged):
    assert sorted(p.name for p in staged.rglob("*.[1-8]")) == sorted(PAGES)


def test_apropos_finds_each_by_the_projects_name(staged):
    said = apropos(staged, "fairgate")
    found = {f"{name}.{section}" for name, section in re.findall(r"^(\S+) \((\d)\)", said, re.M)}
    assert found == set(PAGES), said
    assert "weight" in apropos(staged, "mod_qos_drr") and apropos(staged, "nothing-is-called-so") == ""


@pytest.mark.parametrize("name", PAGES)
def test_renderers_have_nothing_to_say(staged, name):
    path = page(staged, name)
    text, warned = shown(path)
    assert warned == "" and len(text.split("\n")) > 20
    lint = run("mandoc", "-T", "lint", "-W", "warning", path)
    assert (lint.returncode, lint.stdout) == (0, "")
    said = run("lexgrog", path)
    assert said.returncode == 0 and f'"{name.rsplit(".", 1)[0]} - ' in said.stdout


def test_what_is_wrong_is_seen(tmp_path):
    """The renderers, asked so, do find something."""
    bad = tmp_path / "bad.1"
    bad.write_text(".TH A 1\n.SH NAME\na\n.PP\n.PP\n.RE\n\\(xx\n")
    assert run("mandoc", "-T", "lint", "-W", "warning", bad).stdout != "" and shown(bad)[1] != "" and run("lexgrog", bad).returncode != 0


def test_every_command_file_and_module_has_one():
    modules = {p.name for p in TOP.glob("mod_*") if p.is_dir()}
    scripts = {p.name for p in (TOP / "etc/iptables").iterdir() if not p.suffix}
    programs = set()
    for makefile in TOP.glob("*/Makefile.am"):
        text = makefile.read_text().replace("\\\n", " ")
        programs |= {w for line in re.findall(r"^(?:bin|sbin)_(?:PROGRAMS|SCRIPTS) = (.*)$", text, re.M) for w in line.split()}
    assert programs == set(OURS), "tests/docs/kinds.py knows all commands"
    named = {p.rsplit(".", 1)[0] for p in PAGES if p[-1] in "18"}
    assert {*modules, *scripts, *programs, "squid-fqrs"} - named == set()
    files = {"fairgate-policy.5", "fairgate-pages.5", "fairgate-crawlers.5", "fairgate-bots.conf.5", "fairgate-pktcache.conf.5"}
    assert files - set(PAGES) == set()


def test_each_is_in_one_package():
    """What debhelper puts there; what no package has, ends a build."""
    told = [line for p in (TOP / "debian").glob("*.install") for line in p.read_text().split() if "/man/" in line]
    found = [p for p in PAGES for pattern in told if fnmatch.fnmatch(f"usr/share/man/man{p[-1]}/{p}", pattern)]
    assert sorted(found) == sorted(PAGES)


def test_makefile_has_them_all():
    text = (TOP / "manual/Makefile.am").read_text().replace("\\\n", " ")
    assert sorted(re.search(r"^nodist_man_MANS = (.*)$", text, re.M)[1].split()) == sorted(PAGES)
    listed = set(re.findall(r"\.\./(\S+)", text))
    origins = {row.split()[1] for row in (TOP / "manual/pages").read_text().splitlines() if row and row[0] != "#"}
    assert {*origins, *(f for f, _ in SETTINGS.values())} - listed == set() and [f for f in listed if not (TOP / f).exists()] == []


@pytest.mark.parametrize("name", SETTINGS)
def test_each_setting_is_in_it_as_its_table_has_it(staged, name):
    file, before = SETTINGS[name]
    text = re.sub(r"\s+", " ", shown(page(staged, name))[0].replace("‐\n", "").replace("-\n", "-")).replace("- ", "-")
    rows = re.findall(r'^SETTING\((\w+), \w+, "([\w-]+)"(?:, (NULL|"[^"]*"))?', (TOP / file).read_text(), re.M)
    assert len(rows) > 7
    assert [word for _, word, _ in rows if f" {before}{word} " not in text] == []
    assert [(word, usual) for kind, word, usual in rows if kind not in ("SWITCH", "PAIR") and usual not in ("", "NULL") and f"usually {usual.strip(chr(34))}" not in text] == []
    # The help, which the program makes of the same table, has the same.
    said = help_of(program({"fairgate-pktcache.conf.5": "fairgate-pktcache"}.get(name, name.rsplit(".", 1)[0])))
    assert [word for _, word, _ in rows if not re.search(rf"^  {before}{word}\b", said, re.M)] == []


def test_tables_of_directives_are_whole(staged):
    """What docs/ has of a module its manual has, each row."""
    for house, name in (("mod_qos_drr", "mod_qos_drr.8"), ("mod_eeod", "mod_eeod.8"), ("mod_ccn", "mod_ccn.8"), ("squid-fqrs", "squid-fqrs.8")):
        text = shown(page(staged, name))[0]
        directives = re.findall(r"^\| `((?:Qos|Eeod|Ccn|fqrs)\w*)", (TOP / f"docs/{house}.md").read_text(), re.M)
        assert len(directives) >= 7 and [d for d in directives if not re.search(rf"^       {d}\b", text, re.M)] == []


def test_pages_that_they_name_are_there(staged):
    for name in PAGES:
        for other, section in re.findall(r"\b((?:fairgate|mod|squid)[\w.-]*)\((\d)\)", shown(page(staged, name))[0].replace("‐\n", "")):
            assert f"{other}.{section}" in PAGES or other.lower() == name.rsplit(".", 1)[0], f"{name} names {other}({section})"


def test_a_setting_that_is_left_out_is_told(tmp_path):
    """A copy of what the generator needs, with a setting more."""
    for f in ("manual/page", "manual/pages", "pktcache/pk_settings.def", "pktcache/pk_config.h", "pktcache/pk_store.h", "marks/eeod_scan.h", "pktcache/fairgate-pktcache.conf.5.in"):
        (tmp_path / f).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / f, tmp_path / f)
    assert run(tmp_path / "manual/page", "fairgate-pktcache.conf.5").returncode == 0
    with open(tmp_path / "pktcache/pk_settings.def", "a", encoding="utf-8") as f:
        f.write('SETTING(TEXT, more, "more", NULL, "FILE", "something else")\n')
    r = run(tmp_path / "manual/page", "fairgate-pktcache.conf.5")
    assert r.returncode == 1 and "more" in r.stderr
    assert run(tmp_path / "manual/page", "nothing.1").returncode == 1


def test_the_same_text_makes_the_same_page(build):
    """A build that is repeated has the same bytes."""
    version = re.search(r"AC_INIT\(\[fairgate\], \[(.*)\]\)", (TOP / "configure.ac").read_text())[1]
    day = re.search(r"FG_DAY\], \[(.*)\]\)", (TOP / "configure.ac").read_text())[1]
    for name in PAGES:
        r = run(TOP / "manual/page", "--version", version, "--day", day, name)
        assert r.returncode == 0 and r.stdout == pathlib.Path(build / "manual" / name).read_text()

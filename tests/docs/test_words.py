# SPDX-License-Identifier: BSD-2-Clause
"""What sentences and tables of the docs name is there: directives, commands and their options, files, pages and their headings; and no directive is left out."""
import re
import shlex

import pytest
from kinds import OURS, fqrs_directives, help_of, httpd_directives, packages, path_is_known, program
from parts import TOP, blocks, documents, inline

OF_HTTPD = re.compile(r"(?<![\w-])(?:Qos|Eeod|Ccn)[A-Z]\w+(?![\w-])")
OF_SQUID = re.compile(r"(?<![\w.-])fqrs_(?!json|prometheus)[a-z]+\b")
HOME = {"mod_qos_drr": "Qos", "mod_eeod": "Eeod", "mod_ccn": "Ccn"}
# A package, and a folder of results, are no commands.
NO_COMMANDS = {"fairgate-tools", "fairgate-results"}
# Files that whoever follows the docs makes himself.
MADE = {"/etc/apache2/conf-available/fairgate-status.conf", "/etc/apache2/conf-enabled/fairgate.conf"}


def sources(*folders):
    return "\n".join(p.read_text(errors="replace") for f in folders for p in sorted((TOP / f).rglob("*")) if p.suffix in (".c", ".h", ".cc", ".def", ".patch") or p.name.endswith(".in"))


def ours():
    """As the modules' tables have them."""
    return {name for house in HOME for name in re.findall(r'\bAP_INIT_\w+\(\s*"(\w+)"', sources(house))} | {
        name for house in HOME for name in re.findall(r'^\s*(?:\w+\()?"((?:Qos|Eeod|Ccn)\w+)"', sources(house), re.M)}


def named(pattern):
    """(document, line, word) of all that stands in code."""
    return [(str(p.relative_to(TOP)), n, w) for p in documents() for n, code in inline(p.read_text()) for w in pattern.findall(code)]


def test_directives_are_there():
    known = httpd_directives()
    found = named(OF_HTTPD)
    assert len(found) > 150
    assert [x for x in found if x[2].lower() not in known] == []
    known = fqrs_directives()
    found = named(OF_SQUID)
    assert len(found) > 20 and len(known) >= 7, known
    assert [x for x in found if x[2] not in known] == []


@pytest.mark.parametrize("house", HOME)
def test_each_directive_is_in_the_table_of_its_module(house):
    """Of services their document has some."""
    text = "".join((TOP / "docs" / f"{f}.md").read_text() for f in ((house, "services") if house == "mod_ccn" else (house,)))
    rows = "\n".join(re.findall(r"^\|.*$", text, re.M))
    of_house = {d for d in ours() if d.startswith(HOME[house])}
    assert len(of_house) >= 7
    assert [d for d in sorted(of_house) if not re.search(rf"`{d}\b", rows)] == []


def test_each_directive_of_squid_is_in_the_table():
    rows = "\n".join(re.findall(r"^\|.*$", (TOP / "docs/squid-fqrs.md").read_text(), re.M))
    assert [d for d in sorted(fqrs_directives()) if f"`{d}" not in rows] == []


def test_commands_and_options_are_there():
    found, wrong = 0, []
    for p in documents():
        for n, code in inline(p.read_text()):
            name, _, rest = code.partition(" ")
            if name not in OURS and not name.startswith("fairgate-"):
                continue
            if name not in OURS:
                wrong += [] if name.startswith(("fairgate-transparent", "fairgate-pktcache@")) or name in NO_COMMANDS else [(p.name, n, name)]
                continue
            found += 1
            said = help_of(program(name))
            try:
                words = shlex.split(rest)
            except ValueError:
                words = rest.split()
            wrong += [(p.name, n, code, w) for w in words if w.startswith("--") and not re.search(rf"(?<![\w-]){re.escape(w.split('=')[0])}(?![\w-])", said)]
            if words and re.fullmatch(r"[a-z]+", words[0]):
                known = re.findall(rf"^(?:usage:|      ) {name} ([a-z]+)\b", said, re.M)
                wrong += [(p.name, n, code)] if known and words[0] not in known else []
    assert found > 20 and wrong == []


def test_quickstart_knows_what_it_is_told_to_do():
    said = help_of(TOP / "quickstart")
    wrong = [(p.name, w) for p in documents() for w in re.findall(r"\./quickstart ([a-z-]+)", p.read_text()) if not re.search(rf"^  {w}\b", said, re.M)]
    assert wrong == []


def test_quickstart_is_called_by_root_where_it_must_be():
    root = set(re.findall(r"need_root ([a-z-]+)", (TOP / "quickstart").read_text()))
    wrong = [(p.name, w) for p in documents() for w in re.findall(r"^    \./quickstart ([a-z-]+)", p.read_text(), re.M) if w in root]
    assert {"packages", "demo"} <= root and not wrong, wrong


def test_files_are_there():
    found, wrong = 0, []
    for p in documents():
        for n, code in inline(p.read_text()):
            m = re.fullmatch(r"((?:etc|tests|bench|core|policy|pages|pktcache|squid-fqrs|samples|docs|marks|service|ndn|web|bots|httpd|shm|crawlers|prober|ccnget|doctor)/[\w@./*-]+)", code)
            if m and not re.search(r"/NAME|\*", m[1]):
                found += 1
                wrong += [(p.name, n, code)] if not (TOP / m[1]).exists() and not (TOP / (m[1] + ".in")).exists() and not list(TOP.glob(m[1] + ".*")) and not list(TOP.glob(m[1] + "_*")) else []
            elif re.fullmatch(r"/(?:etc|var|usr|run)/[\w@./-]*fairgate[\w@./-]*", code):
                found += 1
                wrong += [] if code in MADE or path_is_known(code) else [(p.name, n, code)]
    assert found > 20 and wrong == []


def heading(text):
    """As GitHub makes an anchor of it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).lower()).replace(" ", "-")


def anchors(path):
    text = path.read_text()
    for line, block, _ in blocks(text):
        text = text.replace(block, "")
    return {heading(h) for h in re.findall(r"^#{1,6} (.*)$", text, re.M)}


def test_links_lead_somewhere():
    found, wrong = 0, []
    for p in [*documents(), *sorted(TOP.glob("squid-fqrs/*.md"))]:
        for to in re.findall(r"\]\(([^)\s]+)\)", " ".join(x for x in p.read_text().split("\n") if not x.startswith("    "))):
            if "://" in to:
                continue
            found += 1
            path, _, anchor = to.partition("#")
            there = (p.parent / path).resolve() if path else p
            if not there.exists() or (anchor and anchor not in anchors(there)):
                wrong.append((str(p.relative_to(TOP)), to))
    assert found > 100 and wrong == []


def test_the_index_has_every_document():
    told = (TOP / "docs/README.md").read_text()
    linked = {(TOP / "docs" / to.partition("#")[0]).resolve() for to in re.findall(r"\]\(([^)\s#]+)", told)}
    assert [str(p.relative_to(TOP)) for p in sorted((TOP / "docs").rglob("*.md")) if p.resolve() not in linked and p.name != "README.md"] == []


def test_the_index_has_every_package():
    told = set(re.findall(r"^\| `([a-z0-9-]+)` \|", (TOP / "docs/README.md").read_text(), re.M))
    assert told == packages()


def test_a_task_has_what_it_promises():
    """It starts at a package and ends at a picture, or at a page that is live; it says what it costs, when not to do it, and how to undo it."""
    tasks = sorted((TOP / "docs/tasks").glob("*.md"))
    assert len(tasks) == 4
    for p in tasks:
        text = p.read_text()
        assert [h for h in ("Install it", "See it", "What it costs", "When not to use it", "Undo it") if f"\n## {h}\n" not in text] == [], p
        parts = [block for _, block, _ in blocks(text)]
        assert re.match(r"sudo apt install ", parts[0]), p
        see = text.split("## See it")[1].split("\n## ")[0]
        assert "![" in see or "-status" in see, p
        assert re.search(r"apt (?:purge|remove) ", text.split("## Undo it")[1]), p


def test_names_of_anchors():
    assert heading("Which page is made next: `CcnScheduler`") == "which-page-is-made-next-ccnscheduler" and heading("Check it, ask it") == "check-it-ask-it"

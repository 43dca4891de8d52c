# SPDX-License-Identifier: BSD-2-Clause
"""The patches for the Squids that there are: one scheduler, hooked in alike."""
import collections
import pathlib
import re
import subprocess

import pytest

FQRS = pathlib.Path(__file__).resolve().parents[2] / "squid-fqrs"
VERSIONS = re.search(r"^        ([\d.|]+)\) \[ -z \"\$version\" \]", (FQRS / "build").read_text(), re.M)[1].split("|")
# What one Squid calls otherwise than another.
ALIKE = [(r"\bNULL\b", "nullptr"), (r"\blogType\.update\(", "updateLoggingTags("), (r"\bal = new Fqrs::LogEntry;", "al(new Fqrs::LogEntry()),")]
# Which of Squid's own tests there are, and how its folders are listed, is each version's affair.
OF_THE_BUILD = ("configure.ac", "Makefile.am")
# Nearly all of Squid's files include one of these, or have it precompiled: with a hook there, a Squid without hooks shares nothing with one that has them.
EVERYWHERE = ("AccessLogEntry.h", "HttpRequest.h", "SquidConfig.h", "Store.h", "comm/Connection.h", "fde.h", "http/Message.h")


def files(version):
    """{file: lines that the patch adds}."""
    added, name = collections.defaultdict(list), None
    for line in (FQRS / "patches" / f"squid-{version}.patch").read_text().splitlines():
        if line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
        elif line.startswith("+") and name:
            added[name].append(line[1:])
    return added


def hooks(version):
    found = []
    for name, lines in files(version).items():
        if not name.endswith(OF_THE_BUILD):
            for line in lines:
                for own, common in ALIKE:
                    line = re.sub(own, common, line)
                found.append(line.strip())
    return collections.Counter(found)


def test_each_version_has_a_patch_and_a_source():
    assert len(VERSIONS) >= 3
    assert {p.name for p in (FQRS / "patches").glob("*.patch")} == {f"squid-{v}.patch" for v in VERSIONS}
    sources = re.findall(r"^[0-9a-f]{64}  squid_([\d.]+)-\S+\.dsc$", (FQRS / "patches" / "sources").read_text(), re.M)
    assert sorted(sources) == sorted(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_the_hooks_are_those_of_the_first(version):
    """What is changed in one patch is changed in all."""
    first, this = hooks(VERSIONS[0]), hooks(version)
    assert sum(first.values()) > 250
    assert not first - this and not this - first


@pytest.mark.parametrize("version", VERSIONS)
def test_no_hook_is_where_it_costs_everybody(version):
    assert not [name for name in files(version) if name.removeprefix("src/") in EVERYWHERE]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_library_is_linked_and_made(version):
    added = files(version)
    assert "\tsrc/fqrs/Makefile" in added["configure.ac"]
    assert len([line for line in added["src/Makefile.am"] if line.strip() == "fqrs/libfqrs.la \\"]) >= 4        # Squid, and its tests that forward
    assert [line for line in added["src/Makefile.am"] if re.match(r"SUBDIRS\s.*\bfqrs\b|\tfqrs \\", line)]


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_a_patch(version):
    """Its hunks are as long as they say: who changes one by hand forgets."""
    done = subprocess.run(["git", "apply", "--stat", FQRS / "patches" / f"squid-{version}.patch"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

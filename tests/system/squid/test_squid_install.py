# SPDX-License-Identifier: BSD-2-Clause
"""From Debian's source to a Squid that is installed beside Debian's: the newest source, and nothing that Debian's next update could take back."""

import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest
from debian_archive import Archive
from lab.lab import ROOT

FQRS = os.path.join(ROOT, "squid-fqrs")
OLD, NEW = "5.7-2+deb12u6", "5.7-2+deb12u7"
# What Debian's packages squid, squid-openssl and squid-common have, or make; and where any package may put files.
DEBIANS = re.compile(r"/(usr/(?!local(/|$))|lib/|etc/(squid|init\.d|default|apparmor\.d|ufw|resolvconf)(/|$)|etc/logrotate\.d/squid$|"
                     r"(var/(log|spool|cache)|run)/squid(/|$)|run/squid\.pid$|etc/systemd/system/squid\.service)")


def has_tools():
    for tool in ("gpg", "dpkg-source", "apt-get"):
        if not shutil.which(tool) and not os.environ.get("CI"):
            pytest.skip(f"no {tool}")


@pytest.fixture
def archive(tmp_path):
    has_tools()
    with Archive(tmp_path) as a:
        a.has(OLD)
        yield a


def builder(archive, directory):
    """run(*options): (exit status, all that it said)."""
    def run(*options, version="5.7", tree=FQRS):
        environment = {**os.environ, **archive.environment, "FAIRGATE_CACHE": str(directory / "cache"), "DESTDIR": str(directory / "system")}
        r = subprocess.run([os.path.join(tree, "build"), version, *options], env=environment, capture_output=True, text=True, timeout=120, check=False)
        return r.returncode, r.stdout + r.stderr
    return run


@pytest.fixture
def build(archive, tmp_path):
    return builder(archive, tmp_path)


@pytest.fixture
def tree_of_ours(tmp_path):
    """A squid-fqrs whose patches a test may change."""
    for name in ("base", "core", "pages", "policy", "shm"):
        (tmp_path / "top" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "top" / name).symlink_to(os.path.join(ROOT, name))
    return pathlib.Path(shutil.copytree(FQRS, tmp_path / "top" / "squid-fqrs"))


def source_of(said):
    """Which source was taken; the archive's is no Squid, so the build ends when it is to be patched."""
    assert "unpack failed" in said, said
    return re.findall(r"Debian's source is (\S+)|; (\S+), which came last, is used", said)[-1]


def test_a_build_takes_the_newest_source_not_the_first_that_ever_came(archive, build):
    assert source_of(build("--lean")[1]) == (OLD, "")
    archive.has(NEW)
    assert source_of(build("--lean")[1]) == (NEW, "")


def test_a_build_without_network_says_so_and_takes_what_it_has(archive, build):
    build("--lean")
    archive.goes_away()
    status, said = build("--lean")
    assert status and "WARNING: apt could not be asked" in said and source_of(said) == ("", OLD)


def test_a_build_that_never_had_a_source_needs_the_network(archive, build):
    archive.goes_away()
    status, said = build("--lean")
    assert status and len(said.splitlines()) == 2 and "unpack" not in said
    assert f"no source of Squid 5.7 is there, and apt could not be asked for it: The repository 'file:{archive.root}" in said


def test_a_build_says_what_is_newest_and_who_has_it(archive, build):
    for revision in (OLD, NEW):
        archive.has(revision)
        assert f"Debian's newest is {revision} (bookworm)\n" in build("--lean")[1]


def known_for(tree, archive, revision):
    """Says that the patch was made with this one."""
    digest = hashlib.sha256((archive.root / "pool" / f"squid_{revision}.dsc").read_bytes()).hexdigest()
    (tree / "patches" / "sources").write_text(f"{digest}  squid_{revision}.dsc\n")


def goes_ahead(archive, newest, *there):
    """From now on the index names this revision alone, whose files are not there; those of others are."""
    pool, aside = archive.root / "pool", archive.top / "aside"
    aside.mkdir()
    for file in pool.glob("squid_*-*"):
        file.rename(aside / file.name)
    archive.has(newest)
    for file in pool.glob(f"squid_{newest}.*"):
        file.unlink()
    for revision in there:
        for file in aside.glob(f"squid_{revision}.*"):
            file.rename(pool / file.name)


def test_where_the_newest_does_not_come_it_is_what_the_patch_was_made_with(archive, build, tree_of_ours):
    """An archive whose index is ahead of its files: apt knows of nothing else."""
    known_for(tree_of_ours, archive, OLD)
    goes_ahead(archive, NEW, OLD)
    said = build("--lean", tree=tree_of_ours)[1]
    assert source_of(said) == (OLD, "") and f"WARNING: {NEW} did not come; {OLD} is used" in said
    assert "Debian's source is" not in build("--lean", tree=tree_of_ours)[1]      # it has it


def test_what_the_patch_was_made_with_is_known_by_its_digest(archive, build, tree_of_ours):
    """No index vouches for it."""
    known_for(tree_of_ours, archive, OLD)
    goes_ahead(archive, NEW, OLD)
    with open(archive.root / "pool" / f"squid_{OLD}.dsc", "a") as f:
        f.write("\n")
    status, said = build("--lean", tree=tree_of_ours)
    assert status and "no Squid 5.7 came from bookworm" in said and "unpack" not in said


def test_what_came_last_is_not_taken_back(archive, build, tree_of_ours):
    """What the patch was made with is older than what is there."""
    known_for(tree_of_ours, archive, OLD)
    archive.has(NEW)
    assert source_of(build("--lean", tree=tree_of_ours)[1]) == (NEW, "")
    goes_ahead(archive, f"{NEW}.1", OLD)
    assert f"WARNING: {NEW}.1 did not come; {NEW} is used" in build("--lean", tree=tree_of_ours)[1]


HUNK = """\
--- a/configure.ac
+++ b/configure.ac
@@ -{line},4 +{line},5 @@
 {first}
 no Squid
+a hook
 four
 five
"""


@pytest.mark.parametrize("hunk, fits", [({"line": 2, "first": "two"}, True), ({"line": 40, "first": "two"}, True), ({"line": 2, "first": "too"}, False)],
                         ids=("as it is", "moved", "with fuzz"))
def test_a_patch_that_would_need_fuzz_is_refused(archive, build, tree_of_ours, hunk, fits):
    known_for(tree_of_ours, archive, OLD)
    archive.has(NEW)
    (tree_of_ours / "patches" / "squid-5.7.patch").write_text(HUNK.format(**hunk))
    status, said = build("--lean", tree=tree_of_ours)
    words = f"Debian's {NEW} is changed where our hooks are: squid-5.7.patch, made with {OLD}, must be made anew"
    assert status and ("unpack failed" in said, words in said) == (not fits, not fits)


def test_sid_goes_on(tmp_path):
    """Its security updates are new versions: there may be no patch yet, and who runs the one before hears of it."""
    has_tools()
    with Archive(tmp_path, release="sid", upstream="7.8") as archive:
        build = builder(archive, tmp_path)
        archive.has("7.8-1")
        status, said = build("--lean", version="7.7")
        assert status and "WARNING: sid has 7.8-1 now, which there is no patch for" in said and "no Squid 7.7 came from sid" in said
        note = tmp_path / "system/opt/fairgate/squid/share/debian-revision"
        note.parent.mkdir(parents=True)
        note.write_text("7.7-1\n")
        status, said = build("--outdated", version="7.7")
        assert status == 1 and len(said.splitlines()) == 1 and "Debian has Squid 7.8-1 (sid), for which there is no patch here, and 7.7-1 is installed" in said


def test_outdated_is_silent_until_debian_has_a_newer_revision(archive, build):
    status, said = build("--outdated")
    assert status == 2 and "no Squid 5.7 is installed or was built" in said
    build("--lean")
    assert build("--outdated") == (0, "")
    archive.has(NEW)
    status, said = build("--outdated")
    assert status == 1 and len(said.splitlines()) == 1 and f"Debian has Squid {NEW} (bookworm), and {OLD} was built last" in said
    archive.goes_away()
    status, said = build("--outdated")
    assert status == 2 and "apt could not be asked" in said


def test_outdated_looks_at_what_is_installed(archive, build, tmp_path):
    """A newer source that was fetched, or even built, does not help who runs the older one."""
    archive.has(NEW)
    build("--lean")
    note = tmp_path / "system/opt/fairgate/squid/share/debian-revision"
    note.parent.mkdir(parents=True)
    note.write_text(OLD + "\n")
    status, said = build("--outdated")
    assert status == 1 and f"{OLD} is installed" in said
    note.write_text(NEW + "\n")
    assert build("--outdated") == (0, "")


@pytest.mark.parametrize("options, cure", [(("--install", "--lean"), "without other options"), (("--outdated", "--install"), "one of --install")])
def test_what_does_not_go_together(build, options, cure):
    status, said = build(*options)
    assert status == 2 and cure in said


# ---- installing

@pytest.fixture
def tree(tmp_path):
    """What the build makes for use; where it was not made, something that looks like it."""
    r = subprocess.run([os.path.join(FQRS, "build"), "5.7", "--where"], capture_output=True, text=True, check=False)
    if r.returncode == 0:
        return pathlib.Path(r.stdout.strip())
    made = tmp_path / "tree"
    for name, text in (("opt/fairgate/squid/sbin/squid", "#!/bin/sh\necho a Squid\n"), ("opt/fairgate/squid/share/debian-revision", OLD + "\n"),
                       ("opt/fairgate/squid/share/icons/silk/image.png", ""), ("etc/squid-fqrs/squid.conf", "http_port 3128\n"),
                       ("etc/squid-fqrs/squid.conf.default", "http_port 3128\ninclude /etc/squid/conf.d/*.conf\n"),
                       ("etc/squid-fqrs/squid.conf.documented", ""), ("etc/squid-fqrs/mime.conf", "a\n"), ("etc/squid-fqrs/mime.conf.default", "a\n")):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (made / "opt/fairgate/squid/sbin/squid").chmod(0o755)
    return made


def install(root, *argv, umask=0o022):
    r = subprocess.run([os.path.join(FQRS, "install"), *map(str, argv)], env={**os.environ, "DESTDIR": str(root)}, capture_output=True, text=True,
                       timeout=60, check=False, umask=umask)
    assert r.returncode == 0, r.stderr
    return r.stdout


def files_of(root):
    """{path: what it is} of all but directories."""
    return {"/" + str(p.relative_to(root)): (stat.S_IMODE(p.lstat().st_mode), p.is_symlink() or p.read_bytes()) for p in root.rglob("*") if not p.is_dir()}


def test_nothing_that_is_installed_is_debians(tree, tmp_path):
    """Neither what it has nor what the program itself looks for."""
    root = tmp_path / "system"
    install(root, tree)
    assert not [path for path in files_of(root) if DEBIANS.match(path)]
    assert not [p for p in root.rglob("*") if DEBIANS.match("/" + str(p.relative_to(root)))]
    options = subprocess.run([root / "opt/fairgate/squid/sbin/squid", "-v"], capture_output=True, text=True, check=True).stdout
    last = dict(re.findall(r"'--([\w-]+)=(/[^']*)'", options))      # the last of an option counts
    assert not [name for name, path in last.items() if DEBIANS.match(path)], last


def test_an_update_of_debians_squid_leaves_ours_alone(tree, tmp_path):
    """Debian's package goes over all that it calls its own: the program, its unit, its configuration."""
    root = tmp_path / "system"
    install(root, tree)
    before = files_of(root)
    for path in ("usr/sbin/squid", "lib/systemd/system/squid.service", "etc/squid/squid.conf", "etc/squid/mime.conf", "usr/share/squid/icons/a.png",
                 "etc/logrotate.d/squid", "usr/lib/squid/pinger", "usr/share/squid/errors/templates/ERR_CANNOT_FORWARD", "usr/sbin/squid"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("Debian's newest\n")
    after = files_of(root)
    assert {path: after[path] for path in before} == before
    # what the unit starts is still ours
    unit = (root / "etc/systemd/system/squid-fqrs.service").read_text()
    programs = set(re.findall(r"^Exec\w+=(/opt\S+)", unit, re.MULTILINE))
    assert programs == {"/opt/fairgate/squid/sbin/squid"}
    assert (root / "opt/fairgate/squid/sbin/squid").read_bytes() == (tree / "opt/fairgate/squid/sbin/squid").read_bytes()


def test_installing_again_keeps_the_configuration_and_leaves_nothing_old(tree, tmp_path):
    root = tmp_path / "system"
    install(root, tree)
    conf = root / "etc/squid-fqrs/squid.conf"
    assert "http_port 3128" in conf.read_text() and "include /etc/squid/" not in conf.read_text() and "#fqrs on" in conf.read_text()
    conf.write_text("fqrs on\n")
    (root / "etc/squid-fqrs/mime.conf").write_text("mine\n")
    (root / "opt/fairgate/squid/sbin/of-an-earlier-one").write_text("")
    install(root, tree)
    assert conf.read_text() == "fqrs on\n" and (root / "etc/squid-fqrs/mime.conf").read_text() == "mine\n"
    assert sorted(os.listdir(root / "opt/fairgate")) == ["squid"] and not (root / "opt/fairgate/squid/sbin/of-an-earlier-one").exists()


def test_whoever_installs_it_squids_user_can_read_it(tree, tmp_path):
    """Of a root whose umask is 077, from a tree that such a user has built: Squid's user, and who asks --outdated, must get at programs, pages and the note."""
    private, root = tmp_path / "private", tmp_path / "system"
    shutil.copytree(tree, private, symlinks=True)
    for p in private.rglob("*"):
        if not p.is_symlink():
            p.chmod(p.stat().st_mode & ~0o077)
    root.mkdir(mode=0o755)
    install(root, private, umask=0o077)
    # what Squid writes is its own
    own = {"/var/log/squid-fqrs", "/var/spool/squid-fqrs", "/var/lib/squid-fqrs", "/var/lib/squid-fqrs/run", "/var/lib/squid-fqrs/run/squid"}
    needed = {p: 0o055 if p.is_dir() else 0o044 for p in root.rglob("*") if not p.is_symlink()}
    assert {"/" + str(p.relative_to(root)) for p, bits in needed.items() if p.stat().st_mode & bits != bits} == own
    for program in ("opt/fairgate/squid/sbin/squid", "usr/local/sbin/squid-fqrs"):
        assert (root / program).stat().st_mode & 0o111 == 0o111


def test_uninstalling_leaves_configuration_and_logs(tree, tmp_path):
    root = tmp_path / "system"
    install(root, tree)
    (root / "var/log/squid-fqrs/access.log").write_text("a line\n")
    install(root, "--uninstall")
    left = files_of(root)
    assert "/etc/squid-fqrs/squid.conf" in left and "/var/log/squid-fqrs/access.log" in left
    assert not [path for path in left if not path.startswith(("/etc/squid-fqrs/", "/var/log/squid-fqrs/"))]


def test_without_systemd_its_command_makes_the_place_of_its_pid(tree, tmp_path):
    """As the unit does; Squid would end at once if it were not there."""
    root = tmp_path / "system"
    install(root, tree)
    squid = root / "opt/fairgate/squid/sbin/squid"
    squid.write_text("#!/bin/sh\n: > /run/squid-fqrs/squid.pid && stat -c '%a %U' /run/squid-fqrs\n")
    command = "mount -t tmpfs none /run && mount -t tmpfs none /opt && mkdir /opt/fairgate && cp -r $0/opt/fairgate /opt/ && $0/usr/local/sbin/squid-fqrs && $0/usr/local/sbin/squid-fqrs"
    r = subprocess.run(["unshare", "-m", "sh", "-c", command, root], capture_output=True, text=True, check=False)
    assert (r.returncode, r.stdout) == (0, "755 root\n" * 2), r.stderr


def test_what_is_not_for_use_is_not_installed(tmp_path):
    """A Squid for tests, whose paths lead into the cache."""
    lean, root = tmp_path / "lean", tmp_path / "system"
    (lean / "sbin").mkdir(parents=True)
    (lean / "sbin/squid").touch(0o755)
    r = subprocess.run([os.path.join(FQRS, "install"), lean], env={**os.environ, "DESTDIR": str(root)}, capture_output=True, text=True, check=False)
    assert r.returncode and "is not what squid-fqrs/build makes for use" in r.stderr and not root.exists()

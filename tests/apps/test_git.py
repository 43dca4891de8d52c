# SPDX-License-Identifier: BSD-2-Clause
"""git over HTTP with git-http-backend: pushes with Expect and in chunks, clones, fetches."""
import os
import subprocess

import pytest

from modes import MODES, Runs

pytestmark = pytest.mark.xdist_group("git")
BACKEND = "/usr/lib/git-core/git-http-backend"
BIG = 3 << 20


@pytest.fixture(scope="module")
def repositories(lab):
    root = os.path.join(lab.dir, "repositories")
    os.mkdir(root)
    os.chmod(root, 0o777)
    config = f"""
        SetEnv GIT_PROJECT_ROOT {root}
        SetEnv GIT_HTTP_EXPORT_ALL
        SetEnv REMOTE_USER developer
        ScriptAlias /git/ {BACKEND}/
        <Directory {os.path.dirname(BACKEND)}>
            Require all granted
            Options ExecCGI
        </Directory>
        """

    def client(gateway, own):
        """Pushes a small commit and a big one, clones, pushes from the clone, fetches it, and compares the repositories."""
        saw, here = [], os.path.join(lab.dir, own)
        os.mkdir(here)
        bare = f"{root}/{own}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
        subprocess.run(["git", "-C", bare, "config", "http.receivepack", "true"], check=True)
        subprocess.run(["chown", "-R", "www-data:www-data", bare], check=True)
        environment = {**os.environ, "HOME": here, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
                       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
        url = f"{gateway.url}/git/{own}.git"

        def git(where, *words):
            done = subprocess.run(["git", "-C", where, "-c", "safe.directory=*", "-c", "gc.auto=0", *words], env=environment, capture_output=True, text=True, check=False, timeout=300)
            said = (done.stdout + done.stderr).replace(url, "URL").replace(own, "OWN")
            saw.append((words[0], done.returncode, [line for line in said.splitlines() if "%" not in line and "objects" not in line]))

        one, two = f"{here}/one", f"{here}/two"
        subprocess.run(["git", "init", "-q", "-b", "main", one], check=True, env=environment)

        def commit(where, name, data):
            with open(f"{where}/{name}", "wb") as f:
                f.write(data)
            git(where, "add", name)
            git(where, "commit", "-q", "-m", f"adds {name}")

        commit(one, "small", b"a few words\n")
        git(one, "push", url, "main")
        commit(one, "big", b"".join(i.to_bytes(4, "big") * 1 for i in range(0, BIG * 613, 613 * 4)))
        git(one, "-c", "http.postBuffer=65536", "-c", "http.extraHeader=Expect: 100-continue", "push", url, "main")
        git(here, "clone", "-q", url, two)
        commit(two, "answer", b"from the clone\n")
        git(two, "push", url, "main")
        git(one, "fetch", "-q", url, "main")
        git(one, "rev-parse", "FETCH_HEAD")
        git(two, "rev-parse", "HEAD")
        git(bare, "fsck", "--full")
        git(bare, "log", "--format=%H %s", "--name-only", "main")
        git(one, "push", f"{gateway.url}/git/none.git", "main")
        return saw

    return Runs(lab, {"config": config, "cgi": True}, client)


def test_git_works_without_the_module(repositories):
    """Three commits arrived, and a push to no repository failed: the modes are compared with that."""
    *done, log, refused = [(code, lines) for _, code, lines in repositories.usual]
    assert not any(code for code, _ in done), done
    assert sum(" adds " in line for line in log[1]) == 3, log
    assert refused[0] == 128


@pytest.mark.parametrize("mode", MODES)
def test_git_push_clone_and_fetch_in_each_mode_are_as_without_the_module(repositories, mode):
    repositories.check(mode)
    assert any(r["expect"] == "100-continue" for r in repositories.requests), "git sent no Expect"

# SPDX-License-Identifier: BSD-2-Clause
"""examples.py - etc/examples as an administrator has them: copied, with a file of keys, included from httpd's configuration."""
import os
import shutil

from . import lab

EXAMPLES = os.path.join(lab.ROOT, "etc", "examples")
MODULES = ("authz_host", "log_config", "reqtimeout")    # that they need besides those of httpd.py


def copied(to):
    """A copy, as README.md there says; the path of it."""
    shutil.copytree(EXAMPLES, to)
    for folder, _, names in os.walk(to):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)
    keys = os.path.join(to, "visitors.key")
    with open(keys, "w", encoding="utf-8") as f:
        f.write("5e" * 32 + "\n")
    os.chmod(keys, 0o600)
    return to


def configuration(etc, name, **defines):
    """Text that includes one; defines: what it is told of this machine."""
    return "".join(f"Define {key} {value}\n" for key, value in {"FAIRGATE_ETC": etc, **defines}.items()) + f"Include {etc}/{name}\n"

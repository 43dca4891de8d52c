# SPDX-License-Identifier: BSD-2-Clause
"""What Prometheus itself says of a page of figures."""

import subprocess


def check(text):
    """Fails with what promtool says if it can't be read, or names and types are not as they should be."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr and not done.stdout, f"{done.stdout}{done.stderr}\nof\n{text}"

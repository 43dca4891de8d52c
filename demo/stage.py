# SPDX-License-Identifier: BSD-2-Clause
"""A demo from its beginning to its end, however that comes."""

import os
import signal
import sys

from lab import lab


def play(name, demo, root=True):
    """The exit status of demo(house), which says whether all is as it should be; root: it makes network namespaces."""
    if root and os.geteuid():
        print(f"{name}: network namespaces need root", file=sys.stderr)
        return 1
    # All ways to be stopped lead through the lab's clean-up, also when a shell had us ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with lab.Lab(name) as house:
            return 0 if demo(house) else 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except lab.LabError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1

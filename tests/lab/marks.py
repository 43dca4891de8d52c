# SPDX-License-Identifier: BSD-2-Clause
"""The marks between which a page is its visitor's own, as mod_eeod has them by default."""
OPEN, CLOSE = b"<!--EEOD-->", b"<!--/EEOD-->"

# SPDX-License-Identifier: BSD-2-Clause
"""The lab: real servers, a site to serve, and clients to load them.

Put tests/ into sys.path, then: from lab import site; from lab.httpd import Httpd.
"""

# SPDX-License-Identifier: BSD-2-Clause
"""The site that system tests visit: files, CGI and PHP programs on disk, and httpd's configuration that serves them behind the module."""

import os
import textwrap

CLASSES = """\
QosClass people weight=6
QosClass search weight=3
QosClass tiny weight=1 queue=2
QosClass hasty weight=1 wait=1
QosClass secure weight=1
QosClass crawlers weight=1 default
QosRule people cookie session=
QosRule search user_agent Googlebot
QosRule tiny user_agent exact tiny-queue
QosRule hasty user_agent exact hasty
QosRule crawlers user_agent GPTBot
QosRule secure prot_type https
"""

THREE_CLASSES = """\
<?xml version="1.0"?>
<classification>
  <class id="1" name="people" quantum="6"><cookie>session=</cookie></class>
  <class id="2" name="search" quantum="3"><user_agent>Googlebot</user_agent></class>
  <class id="3" name="crawlers" quantum="1" default="yes"><user_agent>GPTBot</user_agent></class>
</classification>
"""

# Prints SIZE bytes without Content-Length, or redirects inside the server; reads all of its input first.  class=WORD: says who is signed in.
CGI = """\
#!/bin/sh
read=$(wc -c)
case ${REDIRECT_STATUS:-200} in 404) printf 'Content-Type: text/plain\\n\\ncgi error\\n'; exit ;; esac
for word in $(echo "$QUERY_STRING" | tr '&' ' '); do
    case $word in class=*) printf 'Fairgate-Class: %s\\n' "${word#class=}" ;; esac
done
size=0
for word in $(echo "$QUERY_STRING" | tr '&' ' '); do
    case $word in size=*) size=${word#size=} ;; location=*) printf 'Location: %s\\n\\n' "${word#location=}"; exit ;; esac
done
printf 'Content-Type: text/plain\\n\\n'
if [ "$size" -gt 0 ]; then head -c "$size" /dev/zero; else printf 'read %s\\n' $read; fi
"""

PHP = """<?php
header('Content-Type: text/plain');
if (isset($_GET['class'])) header('Fairgate-Class: ' . $_GET['class']);
$size = (int)($_GET['size'] ?? 0);
for ($left = $size; $left > 0; $left -= 1000) { echo str_repeat('p', min($left, 1000)); flush(); }
"""


def write_site(root):
    """The site under `root` (a pathlib.Path), readable by the servers' user."""
    files = {
        "static/2k.txt": "t" * 2048,
        "static/index.html": "index\n",
        "static/included.shtml": '<!--#include virtual="/static/index.html" -->' * 3 + "\n",
        "static/.htaccess": "RewriteEngine On\nRewriteRule ^rewritten/(.*)$ $1\n",
        "errors/404.txt": "this site's own 404\n",
        "off/2k.txt": "o" * 2048,
        "forbidden/x": "secret\n",
        "cgi/page": CGI,
        "php/page.php": PHP,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    os.chmod(root / "cgi/page", 0o755)
    with open(root / "static/50m.bin", "wb") as big:
        big.truncate(50 << 20)


def site(root, backend, origin, dead_port):
    """Directives for the site: what is served from where."""
    text = f"""
        DocumentRoot {root}
        <Directory {root}>
            Require all granted
            AllowOverride All
            Options +FollowSymLinks +Includes
        </Directory>
        AddType text/html .shtml
        AddOutputFilter INCLUDES .shtml
        DirectoryIndex index.html
        ErrorDocument 404 /errors/404.txt
        <Location /cgi-error>
            ErrorDocument 404 /cgi/page
        </Location>
        <Directory {root}/forbidden>
            Require all denied
        </Directory>
        ScriptAlias /cgi/ {root}/cgi/
        # With a path: mod_proxy has one worker, and one timeout, for each URL.
        ProxyPass /impatient/ http://127.0.0.1:{backend}/mute/ timeout=1 retry=0
        ProxyPass /b/ http://127.0.0.1:{backend}/ retry=0
        ProxyPass /o/ http://127.0.0.1:{origin}/ retry=0
        ProxyPass /dead/ http://127.0.0.1:{dead_port}/ retry=0
        """
    return textwrap.dedent(text)


def seeing():
    """Directives for the status pages."""
    text = """
        <Location /qos-status>
            SetHandler qos-status
        </Location>
        <Location /server-status>
            SetHandler server-status
            QosEngine Off
        </Location>
        ExtendedStatus On
        """
    return textwrap.dedent(text)


def scheduling(root, engine="On", window=1, queue=10000, wait=60, classes=CLASSES, policy_file=None):
    """Directives of the module; what is late is not refused, and nothing is parked.  engine None: not even QosEngine is said."""
    lines = [] if engine is None else [f"QosEngine {engine}"]
    lines += [f"QosWindow {window}", "QosRetryAfter 7", f"QosWait {wait}", "QosDelay 0", "QosPark Off", f"QosQueue {queue}"]
    lines += [f"QosPolicy {policy_file}"] if policy_file else [classes.rstrip()]
    lines += ["SetEnvIf X-Class (.+) qos-class=$1", f"<Directory {root}/off>", "    QosEngine Off", "</Directory>"]
    return "\n".join(lines) + "\n"


def tls(port, certificate):
    """A second port with TLS and HTTP/2, same site."""
    text = f"""
        Listen 127.0.0.1:{port} https
        <VirtualHost 127.0.0.1:{port}>
            SSLEngine On
            SSLCertificateFile {certificate[0]}
            SSLCertificateKeyFile {certificate[1]}
            Protocols h2 http/1.1
            ProxyPassInherit On
        </VirtualHost>
        """
    return textwrap.dedent(text)

# SPDX-License-Identifier: BSD-2-Clause
"""
caddy.py - the nearest rival: Caddy with its module for fair admission (arquivo/caddy-fair-admission), as a server of the lab.

The module is in no package.  An administrator builds a caddy with it from its public source; $FAIRGATE_CADDY names that binary, and without it the rival is not measured.

It scores each request (a signed-in user's base score is 100, an anonymous one's 60; an address or a network that sends many requests/s loses points) and releases the highest score
first.  A signed-in user proves it with a bearer token (JWT, RS256) of a key that caddy fetches once from a JWKS document: Tokens has both.
"""
import base64
import http.server
import json
import os
import subprocess
import threading
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from lab.lab import Server

# The module's own defaults for a signed-in user's and an address's rate, and a lower threshold for the address and its /24: the server of this bench does 80 requests/s in all.
CADDYFILE = """
{{
  admin unix/{dir}/admin.sock
  auto_https off
  persist_config off
  storage file_system {dir}
  log {{
    level WARN
  }}
}}
http://{address} {{
  bind 127.0.0.1
  fairness {{
    auth_jwks_url {keys}
    scoring {{
      penalty ip alpha=0.2 soft=2:10 hard=10:40
      penalty ipv4_subnet alpha=0.2 soft=10:10 hard=50:40
      penalty user
    }}
  }}
  adaptive_admission {{
    controller fixed {{
      limit {window}
    }}
    queue_max_size 500
    queue_timeout {patience}s
  }}
  reverse_proxy {to}
}}
"""


def binary():
    """Its path, or None."""
    path = os.environ.get("FAIRGATE_CADDY")
    return path if path and os.access(path, os.X_OK) else None


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Tokens:
    """Bearer tokens of one key, and the JWKS document on a port of 127.0.0.1 while the block lasts."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        n = self.key.public_key().public_numbers()
        number = lambda v: b64(v.to_bytes((v.bit_length() + 7) // 8, "big"))    # noqa: E731
        document = json.dumps({"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": number(n.n), "e": number(n.e)}]}).encode()

        class Keys(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(document)))
                self.end_headers()
                self.wfile.write(document)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/keys"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def member(self, number):
        """Header field of a signed-in user of this number."""
        now = int(time.time())
        text = ".".join(b64(json.dumps(part).encode()) for part in (
            {"alg": "RS256", "typ": "JWT", "kid": "1"}, {"sub": f"member{number}", "user_class": "researcher", "iat": now - 60, "exp": now + 86400}))
        return f"Authorization: Bearer {text}." + b64(self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))


class Caddy(Server):
    """to: URL of the backend; window: requests at the backend at one time; patience: seconds that a request may be expected to wait before it is refused, 0 for no limit; tokens: a Tokens at work."""

    name = "caddy"

    def __init__(self, lab, to, tokens, window=8, patience=10, name=None):
        super().__init__(lab, name)
        self.to, self.tokens, self.window, self.patience = to, tokens, window, patience

    def configure(self):
        self.write("Caddyfile", CADDYFILE.format(dir=self.dir, address=self.address, keys=self.tokens.url, window=self.window, patience=self.patience,
                                                 to=self.to.removeprefix("http://")))

    def argv(self):
        return [binary(), "run", "--config", self.path("Caddyfile"), "--adapter", "caddyfile"]

    def environment(self):
        return {**os.environ, "HOME": self.dir, "XDG_CONFIG_HOME": self.dir, "XDG_DATA_HOME": self.dir}

    def reload(self):
        subprocess.run([binary(), "reload", "--force", "--config", self.path("Caddyfile"), "--adapter", "caddyfile", "--address", f"unix/{self.dir}/admin.sock"],
                       env=self.environment(), check=True, capture_output=True, timeout=60)

# SPDX-License-Identifier: BSD-2-Clause
"""
signer.py - crawlers that sign what they ask for (Web Bot Auth), and the directories of their keys.

    bot = Signer("https://bot.example")
    headers = bot.sign(authority="site.example", target="/page?x=1")
    with Directory(certificate) as d:           # https://localhost:PORT
        d.keys = [bot]

It makes the signature base by itself, from RFC 9421: nothing of the product is used.
"""
import base64
import hashlib
import http.server
import json
import ssl
import threading
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

WELL_KNOWN = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE = "application/http-message-signatures-directory+json"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """One key of an agent; agent: what Signature-Agent says."""

    def __init__(self, agent):
        self.agent = agent
        self.key = Ed25519PrivateKey.generate()
        self.x = base64url(self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
        self.keyid = base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{self.x}"}}'.encode()).digest())

    def jwk(self, **more):
        return {"kty": "OKP", "crv": "Ed25519", "x": self.x, **more}

    def sign(self, authority, target="/", method="GET", scheme="http", covers=("@authority", "agent"), label="sig1", created=None, lasts=300, nonce=None,
             fields=(), string=False, agent=None, keyid=None, alg="ed25519", tag="web-bot-auth", signed_authority=None):
        """Header fields of a signed request.  covers: names of components, "agent" for the member of Signature-Agent; string: that is the string of older drafts;
        signed_authority: what is signed in place of the authority."""
        created = int(time.time()) if created is None else created
        agent = self.agent if agent is None else agent
        path, question, query = target.partition("?")
        whom = signed_authority or authority
        values = {"@authority": whom, "@method": method, "@path": path, "@query": question + query if question else "?", "@scheme": scheme,
                  "@target-uri": f"{scheme}://{whom}{target}", **{name.lower(): value for name, value in dict(fields).items()}}
        lines, names = [], []
        for name in covers:
            if name == "agent":
                names.append('"signature-agent"' if string else f'"signature-agent";key="{label}"')
                lines.append(f'{names[-1]}: "{agent}"')
            else:
                names.append(f'"{name}"')
                lines.append(f'"{name}": {values[name]}')
        words = [f"({' '.join(names)})", f"created={created}"]
        words += [f"expires={created + lasts}"] if lasts is not None else []
        words += [f'keyid="{keyid or self.keyid}"'] + ([f'alg="{alg}"'] if alg else []) + ([f'nonce="{nonce}"'] if nonce else [])
        words += [f'tag="{tag}"'] if tag else []
        parameters = ";".join(words)
        signature = self.key.sign("\n".join([*lines, f'"@signature-params": {parameters}']).encode())
        return {**dict(fields), "Signature-Agent": f'"{agent}"' if string else f'{label}="{agent}"', "Signature-Input": f"{label}={parameters}",
                "Signature": f"{label}=:{base64.b64encode(signature).decode()}:"}


class Directory:
    """Key directories on https://localhost:PORT, whatever the path.  keys: of these signers; status, media_type, cache_control, location, body: what it answers with."""

    def __init__(self, certificate, port):
        self.keys, self.status, self.media_type, self.cache_control, self.location, self.body = [], 200, MEDIA_TYPE, None, None, None
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.asked.append(self.path)
                body = outer.body if outer.body is not None else json.dumps({"keys": [k.jwk() for k in outer.keys]}).encode()
                self.send_response(outer.status)
                for name, value in (("Content-Type", outer.media_type), ("Cache-Control", outer.cache_control), ("Location", outer.location)):
                    if value:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.port, self.url = port, f"https://localhost:{port}"

        class Server(http.server.ThreadingHTTPServer):
            def get_request(self):
                s, address = super().get_request()
                s.settimeout(10)
                # In the connection's own thread is its handshake.
                return context.wrap_socket(s, server_side=True, do_handshake_on_connect=False), address

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

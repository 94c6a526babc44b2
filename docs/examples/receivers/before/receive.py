"""A receiver from before the move, which does not change: it verifies with Svix's library, or by hand.

python3 receive.py svix|own PORT KEY
"""

import hashlib
import hmac
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


def by_svix(key, body, headers):
    from svix import Webhook, WebhookVerificationError

    try:
        Webhook(key).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False


def by_own(key, body, headers):
    """x-acme-signature: t=SECONDS,v1=HEX, over SECONDS.BODY"""
    seconds, signature = headers["x-acme-signature"].split(",")
    seconds = seconds.removeprefix("t=")
    if abs(time.time() - int(seconds)) > 300:
        return False
    expected = hmac.new(key.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v1={expected}", signature)


verify = {"svix": by_svix, "own": by_own}[sys.argv[1]]
port, key = int(sys.argv[2]), sys.argv[3]


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_genuine = verify(key, body, headers)
        print("verified" if is_genuine else "refused", body.decode(), flush=True)
        self.send_response(204 if is_genuine else 401)
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", port), Receiver)
print("listening", flush=True)
server.serve_forever()

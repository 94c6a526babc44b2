"""Receives webhooks: verifies them, recognises repeats, and answers before it works.

WEBHOOK_KEYS has the keys, whsec_…, separated by spaces: two while they are rotated. PORT is where it listens.
With GONE=1 it wants no more webhooks, for good.
"""

import os
import queue
import threading
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

MAX_BYTES = 1 << 20
MAX_IDS = 100_000

webhooks = [Webhook(key) for key in os.environ["WEBHOOK_KEYS"].split()]
is_gone = os.environ.get("GONE") == "1"
seen = OrderedDict()
lock = threading.Lock()
work = queue.Queue()


def is_genuine(body, headers):
    """Whether one of our keys signed it, not more than five minutes ago."""
    for webhook in webhooks:
        try:
            webhook.verify(body, headers, json_parse=False)
            return True
        except (WebhookVerificationError, ValueError):
            continue
    return False


def is_new(message):
    """In a service with a database: insert the id into a table, in the transaction that stores the message."""
    with lock:
        if message in seen:
            return False
        seen[message] = True
        if len(seen) > MAX_IDS:
            seen.popitem(last=False)
        return True


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if not 0 <= length <= MAX_BYTES:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(length)
        if is_gone:
            return self.answer(410)
        # The bytes as they came: JSON that was read and written again is another text.
        if not is_genuine(body, dict(self.headers)):
            return self.answer(401)
        message = self.headers["webhook-id"]
        if is_new(message):
            work.put((message, body.decode()))
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def do_the_work():
    while True:
        message, body = work.get()
        print(f"received {message} {body}", flush=True)


threading.Thread(target=do_the_work, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver)
print("listening", flush=True)
server.serve_forever()

"""Sends what Svix sends, signed by its library.

python3 send_as_svix.py PORT KEY BODY
"""

import sys
from datetime import datetime, timezone
from urllib.request import Request, urlopen

from svix import Webhook

port, key, body = sys.argv[1:]
message, now = "msg_2Lml0nGn0SaUcJFfXpW4UVfHeQo", datetime.now(timezone.utc)
headers = {
    "content-type": "application/json",
    "svix-id": message,
    "svix-timestamp": str(int(now.timestamp())),
    "svix-signature": Webhook(key).sign(message, now, body),
}
with urlopen(Request(f"http://127.0.0.1:{port}/", body.encode(), headers)) as answer:
    print(answer.status)

"""Verifies requests with the packages of those whose schemes they follow.

Reads a JSON object on each line: scheme, key, headers, body (base64). Writes for each whether the request is
genuine, and whether it still is with another byte behind it.
"""

import base64
import json
import sys

import standardwebhooks
import stripe
import svix
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from convoy.utils.webhook import Webhook as ConvoyWebhook
from slack_sdk.signature import SignatureVerifier


def raises(verify, *arguments):
    try:
        verify(*arguments)
        return False
    except Exception:
        return True


def is_genuine(scheme, key, headers, body):
    if scheme == "standard-webhooks":
        return not raises(standardwebhooks.Webhook(key).verify, body, headers)
    if scheme == "svix":
        return not raises(svix.Webhook(key).verify, body, headers)
    if scheme == "stripe":
        signature = headers["stripe-signature"]
        return not raises(stripe.WebhookSignature.verify_header, body.decode(), signature, key, 300)
    if scheme == "slack":
        return SignatureVerifier(key).is_valid_request(body, headers)
    if scheme == "convoy":
        # Returns True, or a text that says what is wrong.
        return ConvoyWebhook(key).verify_signature(body.decode(), headers["x-convoy-signature"]) is True
    raise ValueError(scheme)


def read_event(headers, body):
    event = from_http_event(HTTPMessage(headers, body))
    attributes = {name: str(value) for name, value in event.get_attributes().items()}
    data = event.get_data()
    if isinstance(data, bytes):
        data = {"bytes": data.hex()}
    return {"attributes": attributes, "data": data}


for line in sys.stdin:
    request = json.loads(line)
    body = base64.b64decode(request["body"])
    headers = request["headers"]
    if request["scheme"] == "cloudevents":
        answer = read_event(headers, body)
    else:
        verdict = [is_genuine(request["scheme"], request["key"], headers, sent) for sent in (body, body + b" ")]
        answer = {"genuine": verdict[0], "changed": verdict[1]}
    print(json.dumps(answer), flush=True)

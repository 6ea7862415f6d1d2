#!/usr/bin/env python3
"""A gate to start from: it keeps payment card numbers out of the memory. Change `judge` and it keeps out something else.

    python gate.py --listen 127.0.0.1:7700

While the file named by --hold exists, every write waits.
"""

import argparse
import json
import os
import re
import signal
import threading
from concurrent import futures

import grpc

from messages import Accept, Defer, Fault, JudgeReply, JudgeRequest, Reject

DIGITS = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
HOLD_MS = 2_000


def is_card(number):
    """Whether the last digit is the one that the Luhn formula asks for, as on every payment card."""
    digits = [int(one) for one in number if one.isdigit()]
    doubled = [d if place % 2 == 0 else sum(divmod(2 * d, 10)) for place, d in enumerate(reversed(digits))]
    return len(digits) >= 13 and sum(doubled) % 10 == 0


def texts(value, path=""):
    """Every text in a JSON value, with its place as a JSON pointer."""
    if isinstance(value, str):
        yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from texts(child, f"{path}/{name}")


def judge(write, hold=None):
    """What becomes of a write: a reply with `accept`, `reject` or `defer`."""
    if hold and os.path.exists(hold):
        return JudgeReply(defer=Defer(retry_after_ms=HOLD_MS, message="the operator has everything wait"))
    content = json.loads(write.content_json)
    quotes = {"evidence": [{"excerpt": one.excerpt} for one in write.evidence]}
    places = [
        path
        for part in (content, quotes)
        for path, text in texts(part)
        if any(is_card(found) for found in DIGITS.findall(text))
    ]
    if places:
        faults = [Fault(path=path, expected="a text without the number of a payment card") for path in places]
        message = "it holds the number of a payment card; leave it out, or write its last four digits"
        return JudgeReply(reject=Reject(code="CARD_NUMBER", message=message, faults=faults))
    return JudgeReply(accept=Accept())


def serve(address, judge):
    """A running gate that answers with what `judge` makes of a write."""
    handler = grpc.unary_unary_rpc_method_handler(
        lambda write, _: judge(write),
        request_deserializer=JudgeRequest.FromString,
        response_serializer=lambda reply: reply.SerializeToString(),
    )
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("tabellion.gate.v1.Gate", {"Judge": handler})])
    server.add_insecure_port(address)
    server.start()
    return server


def main():
    options = argparse.ArgumentParser(description="Keeps payment card numbers out of the memory.")
    options.add_argument("--listen", default="127.0.0.1:7700", help="address and port")
    options.add_argument("--hold", help="while this file exists, every write waits")
    chosen = options.parse_args()
    ended = threading.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: ended.set())
    server = serve(chosen.listen, lambda write: judge(write, chosen.hold))
    print(f"gate listens on {chosen.listen}", flush=True)
    ended.wait()
    server.stop(grace=1).wait()


if __name__ == "__main__":
    main()

"""Loops over messages in plain threads, whatever kind of consumer has them."""

from __future__ import annotations

import threading
from typing import Any


def collected(consumer: Any, count: int) -> list[bytes]:
    """Bodies that a loop in a thread gets of `consumer`, which is stopped once there are `count`; fails
    unless the loop ends then."""
    seen: list[bytes] = []
    all_seen = threading.Event()
    with consumer:

        def work() -> None:
            for message in consumer:
                seen.append(message.body)
                if len(seen) == count:
                    all_seen.set()

        thread = threading.Thread(target=work)
        thread.start()
        assert all_seen.wait(60)
    thread.join(60)
    assert not thread.is_alive()
    return seen


def rounds_until_stopped(consumer: Any) -> int:
    """How often the body of a loop is run that stops `consumer`."""
    consumer.start()
    rounds = 0
    for _ in consumer:
        rounds += 1
        consumer.stop()
    return rounds

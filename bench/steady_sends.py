#!/usr/bin/env python3
"""Awaited sends of 100 B at a steady rate, until standard input ends; prints their times as JSON, in ms.

    steady_sends.py NAMESERVER TOPIC [--rate 200] [--threads 4]

A send counts from the moment when its thread makes the call; the threads take turns, so that one that waits
hides none of the others' waits.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time

from mqframe import Message, Producer


def send_on(
    producer: Producer, topic: str, period: float, ended: threading.Event, taken: list[float]
) -> None:
    due = time.perf_counter()
    while not ended.wait(max(0.0, due - time.perf_counter())):
        started = time.perf_counter()
        producer.send(Message(topic, b"x" * 100))
        taken.append(time.perf_counter() - started)
        due = max(due + period, started)


def summary(taken: list[float]) -> dict[str, float]:
    """p50, p99 and the longest, ms, and how many there were."""
    ordered = sorted(taken)
    ranks = {"p50": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "max": len(ordered) - 1}
    told = {name: round(ordered[rank] * 1000, 2) for name, rank in ranks.items()}
    return {**told, "sends": len(ordered)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nameserver")
    parser.add_argument("topic")
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--threads", type=int, default=4)
    arguments = parser.parse_args()
    ended = threading.Event()
    taken: list[list[float]] = [[] for _ in range(arguments.threads)]
    period = arguments.threads / arguments.rate
    with Producer("steady", nameserver=arguments.nameserver) as producer:
        for _ in range(20):
            producer.send(Message(arguments.topic, b"warm"))
        threads = [
            threading.Thread(target=send_on, args=(producer, arguments.topic, period, ended, own))
            for own in taken
        ]
        for number, thread in enumerate(threads):
            time.sleep(period / len(threads) if number else 0)
            thread.start()
        print("sending", flush=True)
        sys.stdin.read()
        ended.set()
        for thread in threads:
            thread.join()
    print(json.dumps(summary([one for own in taken for one in own])), flush=True)


if __name__ == "__main__":
    main()

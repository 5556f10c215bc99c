#!/usr/bin/env python3
"""A push consumer that pops beside one that pulls: what a message takes its process and the broker.

    pop_push.py [--rounds 3] [--count 60000] [--speedups FOLDER]

Messages of 100 B in 4 queues, sent before a consumer begins; the handler gets them one by one and does
nothing. In turns, each with a group of its own. Prints medians: messages a second, and the processor time of
consumer and server in µs. `--speedups`: where compiled code was installed, which both then have.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading
import time

from python_client import begin_with
from replication import processor_seconds
from server import fill, server

from mqframe import PushConsumer, ReceivedMessage

Figures = tuple[float, float, float]


def consume(nameserver: str, broker: int, topic: str, count: int, mode: str, ordered: bool) -> Figures:
    """Messages a second, µs of this process, µs of the broker; the first tenth is not measured."""
    seen = 0
    before: list[float] = []
    after: list[float] = []
    both, done = threading.Lock(), threading.Event()
    group = f"bench_{mode}_{time.time_ns()}"
    consumer = PushConsumer(group, nameserver=nameserver, mode=mode, ordered=ordered, consume_from="first")

    def now() -> list[float]:
        return [time.perf_counter(), time.process_time(), processor_seconds(broker)]

    @consumer.on(topic)
    def handle(message: ReceivedMessage, context: object) -> None:
        nonlocal seen
        with both:
            seen += 1
            if seen == count // 10:
                before.extend(now())
            elif seen == count:
                after.extend(now())
                done.set()

    with consumer:
        if not done.wait(300):
            sys.exit(f"{mode}: {seen} of {count} messages came within 300 s")
    elapsed, own, other = (end - begin for begin, end in zip(before, after, strict=True))
    measured = count - count // 10
    return measured / elapsed, own / measured * 1e6, other / measured * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--speedups", type=pathlib.Path)
    arguments = parser.parse_args()
    begin_with(arguments.speedups)
    found: dict[str, list[Figures]] = {}
    data = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    try:
        with server(data) as (process, nameserver, _):
            topic = f"bench{time.time_ns()}"
            fill(nameserver, topic, arguments.count, size=100)
            for number in range(arguments.rounds):
                ways = [(mode, ordered) for ordered in (False, True) for mode in ("pull", "pop")]
                for mode, ordered in ways if number % 2 == 0 else reversed(ways):
                    figures = consume(nameserver, process.pid, topic, arguments.count, mode, ordered)
                    found.setdefault(f"{mode}{', in order' if ordered else ''}", []).append(figures)
    finally:
        shutil.rmtree(data, ignore_errors=True)
    for what, rounds in found.items():
        rate, own, other = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{what:16s} {rate:9.0f} msg/s  consumer {own:7.1f} us  server {other:7.1f} us")


if __name__ == "__main__":
    main()

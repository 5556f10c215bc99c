#!/usr/bin/env python3
"""Several brokers of one server against a single one: what a message costs, and how many pass.

    brokers.py [--brokers 2] [--count 60000] [--rounds 3] [--width 512]

Starts `mqframe server` with one broker and with several, and measures them in turns: a producer with so many
sends of 100 B awaited at once for each broker, and a push consumer that reads them. Prints medians: processor
time of all processes of the server for a message, and messages a second. No server polls busily, which is
processor time as well.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from mqframe import Admin, AsyncProducer, ConsumeResult, Message, PushConsumer

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
SENT, CONSUMED = "sent", "consumed"


class Server:
    """`mqframe server --brokers COUNT` below `folder`."""

    def __init__(self, count: int, folder: pathlib.Path) -> None:
        words = ["server", "--brokers", str(count), "--nameserver-port", "0", "--broker-port", "0"]
        words += ["--data", str(folder), "--set", "net.busy_poll_microseconds=0"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mqframe", *words], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.nameserver = re.findall(r"nameserver=(\S+)", self.process.stdout.readline())[0]

    def processor_seconds(self) -> float:
        """User and system time of all its processes until now."""
        pid = self.process.pid
        others = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total = 0
        for each in (pid, *others):
            fields = pathlib.Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / CLOCK_TICKS

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def send(nameserver: str, topic: str, count: int, width: int) -> None:
    asyncio.run(sends(nameserver, topic, count, width))


async def sends(nameserver: str, topic: str, count: int, width: int) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, b"x" * 100)
        left = iter(range(count))

        async def worker() -> None:
            for _ in left:
                await producer.send(message)

        await asyncio.gather(*[worker() for _ in range(width)])


def consume(nameserver: str, topic: str, count: int, width: int) -> None:
    consumer = PushConsumer(f"g-{topic}", nameserver=nameserver, consume_from="first")
    seen, done = 0, threading.Event()

    def listener(messages: list[Message], context: object) -> ConsumeResult:
        nonlocal seen
        seen += len(messages)
        if seen >= count:
            done.set()
        return ConsumeResult.SUCCESS

    consumer.on(topic, batch_max=32)(listener)
    with consumer:
        done.wait(120)


def measured(server: Server, count: int, work: Callable[[], object]) -> tuple[float, float]:
    """Processor time of the server for a message in microseconds, and messages a second."""
    before, started = server.processor_seconds(), time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    return (server.processor_seconds() - before) * 1e6 / count, count / seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    figures: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="mqframe-bench") as folder:
        servers = {n: Server(n, pathlib.Path(folder) / str(n)) for n in (1, chosen.brokers)}
        try:
            for turn in range(chosen.rounds + 1):  # the first warms up
                for n, server in servers.items():
                    topic = f"turn-{turn}"
                    with Admin(nameserver=server.nameserver) as admin:
                        admin.create_topic(topic, queues=8 // n)
                    for what, work in ((SENT, send), (CONSUMED, consume)):
                        figure = measured(
                            server,
                            chosen.count,
                            partial(work, server.nameserver, topic, chosen.count, n * chosen.width),
                        )
                        if turn:
                            figures[what, n].append(figure)
        finally:
            for server in servers.values():
                server.stop()
    for (what, n), each in figures.items():
        cost, rate = (statistics.median(values) for values in zip(*each, strict=True))
        print(f"{what:9} {n} broker(s)  {cost:6.1f} us of processor a message  {rate:9,.0f} msg/s")


if __name__ == "__main__":
    main()

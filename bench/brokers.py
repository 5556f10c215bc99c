#!/usr/bin/env python3
"""Several brokers of one server against a single one: what a message costs, and how many pass.

    brokers.py [--brokers 2] [--count 60000] [--rounds 3] [--width 512] [--queues 8] [--speedups FOLDER]

Starts `mqframe server` with one broker and with several, and measures them in turns: a producer with sends of
100 B awaited at once, and a push consumer that reads them. Each broker gets the same load however many there
are: `--width` sends in flight, `--queues` queues that are pulled. The single one is measured a second time
with the share of that which each of several would get of it. Prints medians: processor time of all processes
of the server for a message, the least in brackets, and messages a second. No server polls busily, which is
processor time as well, nor refuses sends that had to wait. With `--speedups` all servers have the compiled
code that lies in that folder; the clients, in this process, have it where it is installed beside them.
"""

from __future__ import annotations

import argparse
import asyncio
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

from compare_broker import environment, take_speedups

from mqframe import Admin, AsyncProducer, ConsumeResult, Message, PushConsumer

SENT, CONSUMED = "sent", "consumed"


class Server:
    """`mqframe server --brokers COUNT` below `folder`; `speedups`: where its compiled code lies, or ""."""

    def __init__(self, count: int, folder: pathlib.Path, speedups: str) -> None:
        words = ["server", "--brokers", str(count), "--nameserver-port", "0", "--broker-port", "0"]
        words += ["--data", str(folder), "--set", "net.busy_poll_microseconds=0"]
        words += ["--set", "broker.send_wait_ms=60000"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mqframe", *words],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(speedups),
        )
        assert self.process.stdout
        self.nameserver = re.findall(r"nameserver=(\S+)", self.process.stdout.readline())[0]

    def processor_seconds(self) -> float:
        """Processor time of all threads of all its processes until now, by the scheduler's clock of ns."""
        pid = self.process.pid
        others = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        threads = [each for one in (pid, *others) for each in pathlib.Path(f"/proc/{one}/task").iterdir()]
        return sum(int((each / "schedstat").read_text().split()[0]) for each in threads) / 1e9

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
                await producer.send(message, timeout=60)

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
    parser.add_argument("--queues", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    take_speedups(parser)
    chosen = parser.parse_args()
    several = chosen.brokers
    cases = {
        "1 broker": (1, chosen.width, chosen.queues),
        f"1 broker, 1/{several} of the load": (1, chosen.width // several, max(1, chosen.queues // several)),
        f"{several} brokers": (several, several * chosen.width, chosen.queues),
    }
    figures: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="mqframe-bench") as folder:
        counts, below = (1, several), pathlib.Path(folder)
        servers = {n: Server(n, below / str(n), chosen.speedups or "") for n in counts}
        try:
            for turn in range(chosen.rounds + 1):  # the first warms up
                for case, (name, (n, width, queues)) in enumerate(cases.items()):
                    server, topic = servers[n], f"turn-{turn}-{case}"
                    with Admin(nameserver=server.nameserver) as admin:
                        admin.topics.create(topic, queues=queues)
                    for what, work in ((SENT, send), (CONSUMED, consume)):
                        doing = partial(work, server.nameserver, topic, chosen.count, width)
                        figure = measured(server, chosen.count, doing)
                        if turn:
                            figures[what, name].append(figure)
        finally:
            for server in servers.values():
                server.stop()
    for (what, name), each in sorted(figures.items()):
        costs, rates = zip(*each, strict=True)
        cost, rate = statistics.median(costs), statistics.median(rates)
        cost_text = f"{cost:6.2f} us ({min(costs):.2f}) of processor a message"
        print(f"{what:9} {name:26} {cost_text}  {rate:9,.0f} msg/s")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Our Python clients against our broker in another process, 100 B messages, on the same machine.

    python_client.py [--nameserver ADDRESS] [--only awaited,blocking,...] [--rounds N] [--speedups FOLDER]

Prints one line a figure: what, messages, messages a second, the client's processor time of a message; with
rounds the medians. Starts `mqframe server` unless told an address. `--speedups`: where compiled code was
installed, which client and server then have.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import uvloop

from mqframe import AsyncProducer, ConsumeResult, Message, Producer, PushConsumer

BODY = b"x" * 100


FOUND: dict[str, list[tuple[int, float, float]]] = {}
"""What was done, with messages, seconds, and seconds of the client's processor, of each round."""


class Watch:
    """Begins when it is made."""

    def __init__(self) -> None:
        self.began = time.perf_counter(), time.process_time()

    def report(self, what: str, count: int) -> None:
        """`what` was done for `count` messages."""
        now = time.perf_counter(), time.process_time()
        elapsed, processor = (end - begin for begin, end in zip(self.began, now, strict=True))
        FOUND.setdefault(what, []).append((count, elapsed, processor))


def tell() -> None:
    """Print the medians."""
    for what, rounds in FOUND.items():
        rate = statistics.median(count / elapsed for count, elapsed, _ in rounds)
        cost = statistics.median(processor / count * 1e6 for count, _, processor in rounds)
        print(
            f"{what:28s} n={rounds[0][0]:8d} {rate:10.0f} msg/s {cost:8.2f} us of the client a message",
            flush=True,
        )


async def awaited(nameserver: str, topic: str, loop: str, count: int = 30_000) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        for _ in range(200):
            await producer.send(message)
        watch = Watch()
        for _ in range(count):
            await producer.send(message)
        watch.report(f"awaited {loop}", count)


def blocking(nameserver: str, topic: str, count: int = 30_000) -> None:
    with Producer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        for _ in range(200):
            producer.send(message)
        watch = Watch()
        for _ in range(count):
            producer.send(message)
        watch.report("awaited blocking", count)


async def concurrent(nameserver: str, topic: str, count: int = 100_000, width: int = 1024) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")

        async def worker(each: int) -> None:
            for _ in range(each):
                await producer.send(message)

        await asyncio.gather(*(worker(1) for _ in range(width)))
        watch = Watch()
        await asyncio.gather(*(worker(count // width) for _ in range(width)))
        watch.report(f"{width} awaited at once", count // width * width)


async def submit(nameserver: str, topic: str, loop: str, count: int = 1_000_000) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        await asyncio.gather(*[await producer.submit(message) for _ in range(1000)])
        watch = Watch()
        futures = [await producer.submit(message) for _ in range(count)]
        for future in futures:
            await future
        watch.report(f"submit {loop}", count)


def submit_blocking(nameserver: str, topic: str, count: int = 1_000_000) -> None:
    with Producer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        watch = Watch()
        futures = [producer.submit(message) for _ in range(count)]
        for future in futures:
            future.result()
        watch.report("submit blocking", count)


def consume(
    nameserver: str, topic: str, batch: int, count: int = 1_000_000, *, ordered: bool = False
) -> None:
    seen = 0
    watch: Watch | None = None
    both = threading.Lock()
    done = threading.Event()
    how = "one by one" if batch == 1 else f"by {batch}"
    what = f"consumed {how}{', ordered' if ordered else ''}"
    consumer = PushConsumer(
        group=f"bench{batch}_{time.time_ns()}",
        nameserver=nameserver,
        ordered=ordered,
        consume_from="first",
    )

    @consumer.on(topic, batch_max=batch)
    def handle(messages, context):  # type: ignore[no-untyped-def]
        nonlocal seen, watch
        with both:
            watch = watch or Watch()
            seen += len(messages)
            if seen >= count and not done.is_set():
                watch.report(what, seen)
                done.set()
        return ConsumeResult.SUCCESS

    with consumer:
        done.wait(120)


@dataclass
class Order:
    """Some 100 B of JSON."""

    id: int
    customer: str
    articles: list[str]
    paid: bool


def handlers(nameserver: str, topic: str, count: int = 300_000) -> None:
    """Handlers of one message: of the message itself, and of the value in its body, twice in turns."""
    with Producer(group="bench", nameserver=nameserver) as producer:
        order = Order(4711, "customer-0815", ["tea", "biscuits", "milk"], True)
        message = producer.message(topic, order)
        for future in [producer.submit(message) for _ in range(count)]:
            future.result()
    for _ in range(2):
        for typed in (False, True):
            what = f"handler of {'values' if typed else 'messages'}"
            watch: list[Watch] = []
            seen: list[int] = []
            done = threading.Event()

            def handle(value, seen=seen, done=done, watch=watch, what=what):  # type: ignore[no-untyped-def]
                if not watch:
                    watch.append(Watch())
                seen.append(1)
                if len(seen) >= count and not done.is_set():
                    watch[0].report(what, count)
                    done.set()

            group = f"bench_handlers_{time.time_ns()}"
            consumer = PushConsumer(group=group, nameserver=nameserver, consume_from="first")
            if typed:
                consumer.subscribe(topic, "*", handle, type=Order)
            else:
                consumer.subscribe(topic, "*", handle)
            with consumer:
                done.wait(120)


def begin_with(speedups: pathlib.Path | None) -> None:
    """Begin this program anew where it has not the compiled code in the folder `speedups`."""
    if speedups and str(speedups) not in sys.path:
        environment = {**os.environ, "PYTHONPATH": str(speedups)}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nameserver")
    parser.add_argument(
        "--only",
        default="awaited,uvloop,blocking,concurrent,submit,submit_uvloop,submit_blocking,consume512,consume32,"
        "ordered32,consume1,ordered1,handlers",
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--speedups", type=pathlib.Path)
    arguments = parser.parse_args()
    begin_with(arguments.speedups)
    topic = f"bench{time.time_ns()}"
    server, data = None, tempfile.mkdtemp(prefix="mqframe-bench")
    nameserver = arguments.nameserver
    if not nameserver:
        command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "32876"]
        command += ["--broker-port", "32911", "--data", str(pathlib.Path(data, "store"))]
        server = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert server.stdout
        server.stdout.readline()
        nameserver = "127.0.0.1:32876"
    runs: dict[str, Callable[[], None]] = {
        "awaited": lambda: asyncio.run(awaited(nameserver, topic, "asyncio")),
        "uvloop": lambda: uvloop.run(awaited(nameserver, topic, "uvloop")),
        "blocking": lambda: blocking(nameserver, topic),
        "concurrent": lambda: asyncio.run(concurrent(nameserver, topic)),
        "submit": lambda: asyncio.run(submit(nameserver, topic, "asyncio")),
        "submit_uvloop": lambda: uvloop.run(submit(nameserver, topic, "uvloop")),
        "submit_blocking": lambda: submit_blocking(nameserver, topic),
        "consume512": lambda: consume(nameserver, topic, 512),
        "consume32": lambda: consume(nameserver, topic, 32),
        "consume1": lambda: consume(nameserver, topic, 1),
        "ordered32": lambda: consume(nameserver, topic, 32, ordered=True),
        "ordered1": lambda: consume(nameserver, topic, 1, ordered=True),
        "handlers": lambda: handlers(nameserver, f"{topic}_values"),
    }
    try:
        for _ in range(arguments.rounds):
            for name in arguments.only.split(","):
                runs[name]()
        tell()
    finally:
        if server:
            server.terminate()
            server.wait(20)
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Our Python clients against our broker in another process, 100 B messages, on the same machine.

    python_client.py [--nameserver ADDRESS] [--only awaited,blocking,...]

Prints one line a figure: what, messages, messages a second. Starts `mqframe server` unless told an address.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import shutil
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


def report(what: str, count: int, seconds: float) -> None:
    print(f"{what:22s} n={count:8d} {count / seconds:10.0f} msg/s", flush=True)


async def awaited(nameserver: str, topic: str, loop: str, count: int = 30_000) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        for _ in range(200):
            await producer.send(message)
        started = time.perf_counter()
        for _ in range(count):
            await producer.send(message)
        report(f"awaited {loop}", count, time.perf_counter() - started)


def blocking(nameserver: str, topic: str, count: int = 30_000) -> None:
    with Producer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        for _ in range(200):
            producer.send(message)
        started = time.perf_counter()
        for _ in range(count):
            producer.send(message)
        report("awaited blocking", count, time.perf_counter() - started)


async def concurrent(nameserver: str, topic: str, count: int = 100_000, width: int = 1024) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")

        async def worker(each: int) -> None:
            for _ in range(each):
                await producer.send(message)

        await asyncio.gather(*(worker(1) for _ in range(width)))
        started = time.perf_counter()
        await asyncio.gather(*(worker(count // width) for _ in range(width)))
        report(f"{width} awaited at once", count // width * width, time.perf_counter() - started)


async def submit(nameserver: str, topic: str, count: int = 1_000_000) -> None:
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        await asyncio.gather(*[await producer.submit(message) for _ in range(1000)])
        started = time.perf_counter()
        futures = [await producer.submit(message) for _ in range(count)]
        for future in futures:
            await future
        report("submit asyncio", count, time.perf_counter() - started)


def submit_blocking(nameserver: str, topic: str, count: int = 1_000_000) -> None:
    with Producer(group="bench", nameserver=nameserver) as producer:
        message = Message(topic, BODY, tag="T")
        started = time.perf_counter()
        futures = [producer.submit(message) for _ in range(count)]
        for future in futures:
            future.result()
        report("submit blocking", count, time.perf_counter() - started)


def consume(
    nameserver: str, topic: str, batch: int, count: int = 1_000_000, *, ordered: bool = False
) -> None:
    seen = 0
    first = 0.0
    both = threading.Lock()
    done = threading.Event()
    consumer = PushConsumer(
        group=f"bench{batch}_{time.time_ns()}",
        nameserver=nameserver,
        ordered=ordered,
        consume_from="first",
    )

    @consumer.on(topic, batch_max=batch)
    def handle(messages, context):  # type: ignore[no-untyped-def]
        nonlocal seen, first
        with both:
            first = first or time.perf_counter()
            seen += len(messages)
            if seen >= count:
                done.set()
        return ConsumeResult.SUCCESS

    with consumer:
        done.wait(120)
        seconds = time.perf_counter() - first
    how = "one by one" if batch == 1 else f"by {batch}"
    report(f"consumed {how}{', ordered' if ordered else ''}", seen, seconds)


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
            seen: list[float] = []
            done = threading.Event()

            def handle(value, seen=seen, done=done):  # type: ignore[no-untyped-def]
                seen.append(time.perf_counter())
                if len(seen) >= count:
                    done.set()

            group = f"bench_handlers_{time.time_ns()}"
            consumer = PushConsumer(group=group, nameserver=nameserver, consume_from="first")
            if typed:
                consumer.subscribe(topic, "*", handle, type=Order)
            else:
                consumer.subscribe(topic, "*", handle)
            with consumer:
                done.wait(120)
            what = "values" if typed else "messages"
            report(f"handler of {what}", len(seen), seen[-1] - seen[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nameserver")
    parser.add_argument(
        "--only",
        default="awaited,uvloop,blocking,concurrent,submit,submit_blocking,consume32,ordered32,consume1,ordered1,"
        "handlers",
    )
    arguments = parser.parse_args()
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
        "submit": lambda: asyncio.run(submit(nameserver, topic)),
        "submit_blocking": lambda: submit_blocking(nameserver, topic),
        "consume32": lambda: consume(nameserver, topic, 32),
        "consume1": lambda: consume(nameserver, topic, 1),
        "ordered32": lambda: consume(nameserver, topic, 32, ordered=True),
        "ordered1": lambda: consume(nameserver, topic, 1, ordered=True),
        "handlers": lambda: handlers(nameserver, f"{topic}_values"),
    }
    try:
        for name in arguments.only.split(","):
            runs[name]()
    finally:
        if server:
            server.terminate()
            server.wait(20)
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()

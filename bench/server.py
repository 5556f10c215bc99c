#!/usr/bin/env python3
"""Start-up, memory, many topics, and sends while another group reads a cold backlog.

    server.py [--only start,full,memory,topics,cold]

Starts `mqframe server` on loopback for each figure and prints one line a figure.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

from mqframe_pull.puller.blocking_puller import Puller

from mqframe import Admin, AsyncProducer, Message, Producer


@contextlib.contextmanager
def server(data: pathlib.Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A running server: process, name server address, seconds until it said that it is ready."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    process = subprocess.Popen([*command, "--data", str(data)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    line = process.stdout.readline()
    seconds = time.perf_counter() - started
    try:
        yield process, re.findall(r"nameserver=(\S+)", line)[0], seconds
    finally:
        process.terminate()
        process.wait(60)


def private_mebibytes(pid: int) -> float:
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(n) for n in re.findall(r"Private_\w+:\s+(\d+)", text)) / 1024


def fill(nameserver: str, topic: str, count: int, size: int = 1024) -> None:
    """`count` messages of `size` bytes, in batches."""
    body = b"x" * size
    with Producer(group="bench", nameserver=nameserver) as producer:
        batch = [Message(topic, body) for _ in range(100)]
        for _ in range(count // 100):
            producer.send_batch(batch)


async def tail(nameserver: str, topics: list[str], count: int) -> tuple[float, float, float]:
    """Messages a second, p50 and p99 in ms of `count` awaited sends, 16 at a time."""
    times: list[float] = []
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        for topic in topics:  # the routes are known then
            await producer.send(Message(topic, b"x" * 100))

        async def worker(number: int) -> None:
            for n in range(count // 16):
                message = Message(topics[(number + n * 16) % len(topics)], b"x" * 100)
                started = time.perf_counter()
                await producer.send(message)
                times.append(time.perf_counter() - started)

        started = time.perf_counter()
        await asyncio.gather(*map(worker, range(16)))
        seconds = time.perf_counter() - started
    times.sort()
    return len(times) / seconds, times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3


def start(work: pathlib.Path) -> None:
    seconds = []
    for n in range(5):
        with server(work / f"start{n}") as (_, _, took):
            seconds.append(took)
    print(
        f"start on an empty directory: median {statistics.median(seconds):.2f} s of {len(seconds)}",
        flush=True,
    )


def full(work: pathlib.Path) -> None:
    with server(work / "full") as (_, nameserver, _):
        fill(nameserver, "full", 900_000)
    with server(work / "full") as (_, _, took):
        print(f"start on a cleanly stopped store with a full 1 GiB log: {took:.2f} s", flush=True)


def memory(work: pathlib.Path) -> None:
    with server(work / "memory") as (process, nameserver, _):
        idle = private_mebibytes(process.pid)
        fill(nameserver, "memory", 300_000, 100)
        loaded = private_mebibytes(process.pid)
        print(f"private memory: idle {idle:.0f} MiB, after 300,000 messages {loaded:.0f} MiB", flush=True)


def topics(work: pathlib.Path, count: int = 10_000) -> None:
    with server(work / "topics") as (process, nameserver, _):
        rate, _, p99 = asyncio.run(tail(nameserver, ["one"], 32_000))
        print(f"one topic: {rate:.0f} msg/s, p99 {p99:.2f} ms", flush=True)
        names = [f"topic{n}" for n in range(count)]
        with Admin(nameserver=nameserver) as admin:
            for name in names:
                admin.topics.create(name, queues=4)
        asyncio.run(tail(nameserver, names, 5 * count))  # every queue has its file now
        rate, _, p99 = asyncio.run(tail(nameserver, names, 32_000))
        descriptors = len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))
        print(f"{count} topics: {rate:.0f} msg/s, p99 {p99:.2f} ms, {descriptors} descriptors", flush=True)
    with server(work / "topics") as (_, _, took):
        print(f"start with {count} topics of 4 queues: {took:.2f} s", flush=True)


def cold(work: pathlib.Path) -> None:
    with server(work / "cold") as (_, nameserver, _):
        fill(nameserver, "cold", 600_000)
        _, _, idle = asyncio.run(tail(nameserver, ["hot"], 32_000))
        subprocess.run(["sh", "-c", "sync; echo 1 > /proc/sys/vm/drop_caches"], check=False)
        stop = threading.Event()
        read = 0

        def reader() -> None:
            nonlocal read
            with Puller(nameserver=nameserver, group="cold") as puller:
                for queue in puller.queues("cold"):
                    offset, end = puller.min_offset(queue), puller.max_offset(queue)
                    while offset < end and not stop.is_set():
                        result = puller.pull(queue, offset, 32)
                        read += len(result.messages)
                        offset = result.next_offset

        thread = threading.Thread(target=reader)
        thread.start()
        _, _, busy = asyncio.run(tail(nameserver, ["hot"], 32_000))
        stop.set()
        thread.join()
        print(f"p99 of sends: idle {idle:.2f} ms, with a cold reader {busy:.2f} ms ({read} read)", flush=True)


def main() -> None:
    runs = {"start": start, "full": full, "memory": memory, "topics": topics, "cold": cold}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(runs))
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    try:
        for name in arguments.only.split(","):
            runs[name](work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

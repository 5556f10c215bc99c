#!/usr/bin/env python3
"""How late delayed messages are at many a second, and what waiting ones cost.

    delay.py [--only levels,times,waiting] [--rate 1000] [--seconds 60] [--waiting 1000000]

Starts `mqframe server` on loopback for each figure and prints one line a figure.

`levels`: messages of delay level 2 (5 s), `times`: messages for a given time some 10 s ahead; both are sent
at `--rate` a second for `--seconds`, so that as many fall due. Late is the store time of the delivered
message minus its time; early ones count apart, and there must be none. `waiting`: memory and file space of
`--waiting` messages a day ahead.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from mqframe_pull.puller.blocking_puller import Puller

from mqframe import Admin, AsyncProducer, Message
from mqframe.store.reader import StoreReader

BODY_BYTES = 256
LEVEL_MS = 5000


@contextlib.contextmanager
def server(data: pathlib.Path) -> Iterator[tuple[int, str]]:
    """A running server: process id and name server address."""
    command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    process = subprocess.Popen([*command, "--data", str(data)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    nameserver = re.findall(r"nameserver=(\S+)", process.stdout.readline())[0]
    with Admin(nameserver=nameserver) as admin:
        admin.topics.create("delay", queues=4)
    try:
        yield process.pid, nameserver
    finally:
        process.terminate()
        process.wait(120)


async def send_steadily(
    nameserver: str, rate: int, seconds: float, wish: Callable[[], dict[str, Any]]
) -> int:
    """Send `rate` messages a second for `seconds`; gives how many."""
    began, sent = time.monotonic(), 0
    running: set[asyncio.Task[Any]] = set()
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        while (passed := time.monotonic() - began) < seconds:
            while sent < passed * rate:
                task = asyncio.create_task(producer.send(message(), **wish()))
                running.add(task)
                task.add_done_callback(running.discard)
                sent += 1
            await asyncio.sleep(0.005)
        await asyncio.gather(*running)
    return sent


def message() -> Message:
    return Message("delay", b"x" * BODY_BYTES)


def lateness(nameserver: str, count: int, due: Callable[[Any], int], seconds: float) -> list[int]:
    """Store time minus due time, ms, of each delivered message, once `count` are there."""
    end = time.monotonic() + seconds
    with Puller(nameserver=nameserver) as puller:
        queues = puller.queues("delay")
        while sum(map(puller.max_offset, queues)) < count and time.monotonic() < end:
            time.sleep(0.5)
        late = []
        for queue in queues:
            at, stop = puller.min_offset(queue), puller.max_offset(queue)
            while at < stop:
                result = puller.pull(queue, at, 32)
                late += [each.store_timestamp - due(each) for each in result.messages]
                at = max(at + 1, result.next_offset)
    return late


def report(what: str, sent: int, late: list[int]) -> None:
    late.sort()
    if not late:
        print(f"{what}: sent {sent}, delivered none", flush=True)
        return
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    early = sum(each < 0 for each in late)
    print(
        f"{what}: sent {sent}, delivered {len(late)}, early {early}, late p50 {p50} ms, p99 {p99} ms,"
        f" max {late[-1]} ms",
        flush=True,
    )


def levels(work: pathlib.Path, options: argparse.Namespace) -> None:
    with server(work / "levels") as (_, nameserver):
        sent = asyncio.run(
            send_steadily(nameserver, options.rate, options.seconds, lambda: {"delay_level": 2})
        )
        # When the broker stored it for waiting is not kept; its birth is, which is not later than that.
        late = lateness(nameserver, sent, lambda each: each.born_timestamp + LEVEL_MS, LEVEL_MS / 1000 + 60)
        report(f"levels, {options.rate}/s", sent, late)


def times(work: pathlib.Path, options: argparse.Namespace) -> None:
    def wish() -> dict[str, Any]:
        return {"deliver_at": time.time_ns() // 1_000_000 + 10_000}

    with server(work / "times") as (_, nameserver):
        sent = asyncio.run(send_steadily(nameserver, options.rate, options.seconds, wish))
        late = lateness(nameserver, sent, lambda each: int(each.properties["TIMER_DELIVER_MS"]), 72)
        report(f"times, {options.rate}/s", sent, late)


def waiting(work: pathlib.Path, options: argparse.Namespace) -> None:
    data = work / "waiting"
    with server(data) as (pid, nameserver):
        # Caches of bounded size, those of key hashes above all, are full then.
        asyncio.run(_fill(nameserver, max(1000, options.waiting // 5)))
        memory, files = own_mebibytes(pid), used_mebibytes(data)
        log = log_mebibytes(data)
        asyncio.run(_fill(nameserver, options.waiting))
        time.sleep(3)
        more, space = own_mebibytes(pid) - memory, used_mebibytes(data) - files
        print(
            f"waiting: {options.waiting} more messages take {more:.1f} MiB of memory and"
            f" {space + log_mebibytes(data) - log:.1f} MiB of files beside unused room of the commit log",
            flush=True,
        )


async def _fill(nameserver: str, count: int) -> None:
    day = time.time_ns() // 1_000_000 + 86_400_000
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:

        async def worker(number: int) -> None:
            for n in range(number, count, 32):
                await producer.send(message(), deliver_at=day + n % 3_600_000)

        await asyncio.gather(*map(worker, range(32)))


def own_mebibytes(pid: int) -> float:
    """Memory that is not a page of a mapped file."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"RssAnon:\s+(\d+)", text)[0]) / 1024


def used_mebibytes(data: pathlib.Path) -> float:
    """Blocks in use of all files but the commit log's, which are allocated ahead."""
    files = (path for path in data.rglob("*") if path.is_file() and "commitlog" not in path.parts)
    return sum(path.stat().st_blocks for path in files) * 512 / (1 << 20)


def log_mebibytes(data: pathlib.Path) -> float:
    """What was written to the commit log."""
    return StoreReader(next(data.rglob("commitlog")).parent).log_range()[1] / (1 << 20)


FIGURES = {"levels": levels, "times": times, "waiting": waiting}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(FIGURES))
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--waiting", type=int, default=1_000_000)
    options = parser.parse_args()
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory(prefix="mqframe-bench-") as work:
            FIGURES[name](pathlib.Path(work), options)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What the broker service `deduplication` costs a send: 100 B messages, without it and with it, in turns.

    deduplication.py [--rounds 3] [--count 30000] [--width 16] [--batch 100]

Starts two servers on loopback, one of them with the service, and runs each way once a round, in an order that
turns. Prints every run, then the median of each way and its ratio to the first one.

    without          no service, no key
    without, keys    no service, a property more
    with, no key     the service is there, messages have no key
    with, keys       each key is new
    with, doubles    each key is known: nothing is stored

`--batch` more ways send in batches of so many, the rate is that of messages; 0 leaves them out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from mqframe import AsyncProducer, Message

BODY = b"x" * 100
WAYS = {  # name: whether with the service, and which keys: none, new ones, known ones
    "without": (False, "none"),
    "without, keys": (False, "new"),
    "with, no key": (True, "none"),
    "with, keys": (True, "new"),
    "with, doubles": (True, "known"),
}
NUMBERS = itertools.count()


@contextlib.contextmanager
def server(data: pathlib.Path, *words: str) -> Iterator[str]:
    """The address of a name server whose broker runs."""
    command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    process = subprocess.Popen([*command, "--data", str(data), *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield re.findall(r"nameserver=(\S+)", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait(60)


def messages(count: int, keys: str) -> list[Message]:
    if keys == "none":
        return [Message("bench", BODY) for _ in range(count)]
    numbers = itertools.cycle(range(-1000, 0)) if keys == "known" else NUMBERS
    return [Message("bench", BODY, properties={"IDEMPOTENCE_KEY": f"k{next(numbers)}"}) for _ in range(count)]


async def rate(nameserver: str, keys: str, count: int, width: int, batch: int) -> float:
    """Messages a second that were answered, `width` sends under way at once."""
    async with AsyncProducer(group="bench", nameserver=nameserver) as producer:
        for message in messages(1000, "known" if keys == "known" else "none"):
            await producer.send(message)  # the route, and the keys that are to be known
        work = iter(messages(count, keys))

        async def worker() -> None:
            if not batch:
                for message in work:
                    await producer.send(message)
                return
            while several := list(itertools.islice(work, batch)):
                await producer.send_batch(several)

        started = time.perf_counter()
        await asyncio.gather(*[worker() for _ in range(width)])
        return count / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=30_000)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch", type=int, default=100)
    arguments = parser.parse_args()
    sizes = [0, arguments.batch] if arguments.batch else [0]
    runs = [(name, size) for size in sizes for name in WAYS]
    found: dict[tuple[str, int], list[float]] = {run: [] for run in runs}
    with tempfile.TemporaryDirectory(prefix="mqframe-bench-") as work, contextlib.ExitStack() as stack:
        folder = pathlib.Path(work)
        plain = stack.enter_context(server(folder / "without"))
        service = (
            "--set",
            "broker.services=deduplication",
            "--set",
            "plugins.deduplication.keys_max=1000000",
        )
        serving = stack.enter_context(server(folder / "with", *service))
        for number in range(arguments.rounds):
            turn = number % len(runs)
            for name, size in runs[turn:] + runs[:turn]:
                has_service, keys = WAYS[name]
                nameserver = serving if has_service else plain
                per_second = asyncio.run(rate(nameserver, keys, arguments.count, arguments.width, size))
                found[name, size].append(per_second)
                print(f"round {number + 1}  {title(name, size):24s} {per_second:10.0f} msg/s", flush=True)
    for (name, size), rates in found.items():
        first = statistics.median(found["without", size])
        median = statistics.median(rates)
        print(f"median   {title(name, size):24s} {median:10.0f} msg/s  {median / first:5.2f} of without")


def title(name: str, size: int) -> str:
    return f"{name}, by {size}" if size else name


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What hooks cost a producer: its processor time for a message, over a network that answers at once.

    hooks.py [BEFORE] [--rounds 7] [--count 20000]

Prints µs a message without hooks, with one that watches, with one that sets a property, and with
OpenTelemetry and its SDK. With BEFORE, a folder that holds another checkout and its `.venv`: both without
hooks, in turns; medians, their ratio, and the ratio of the best of each, which other load disturbs least.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict

from mqframe import Message, SendHook
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.in_flight_limit import AsyncInFlightLimit, BlockingInFlightLimit
from mqframe.client.sending.producer_parts import ProducerParts, ProducerStrategies
from mqframe.client.sending.result_futures import Item, LoopResults
from mqframe.client.sending.submit import Submitter
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.sending.encoding import element_size
from mqframe.core.wire.frame import Frame
from mqframe.net.clock import SystemClock

BODY = b"x" * 100
BATCH = 100
ROUTE = TopicRoute(
    "orders",
    TopicRouteData(
        broker_datas=[BrokerData("a", {0: "127.0.0.1:10911"}, "x")], queue_datas=[QueueData("a", 6, 4, 4)]
    ),
)
ANSWER = Frame(0, ext={"msgId": "OFF", "queueId": "0", "queueOffset": "5"})


class AtOnce:
    """A transport whose broker answers at once."""

    def known_route(self, topic: str) -> TopicRoute:
        return ROUTE

    async def find_route(self, topic: str, seconds: float) -> TopicRoute:
        return ROUTE

    async def invoke(self, address: str, request: object, body: bytes = b"", *, timeout: float) -> Frame:
        return ANSWER

    async def oneway(self, address: str, request: object, body: bytes = b"", *, timeout: float) -> None:
        return None

    async def sleep(self, seconds: float) -> None:
        return None


class Watching(SendHook):
    def after(self, context: object) -> None: ...


class Setting(SendHook):
    def prepare(self, operation: object) -> None:
        operation.set_property("tenant", "acme")  # type: ignore[attr-defined]


def telemetry() -> SendHook:
    from mqframe_opentelemetry import SendTelemetry
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    return SendTelemetry(tracer_provider=TracerProvider(), meter_provider=MeterProvider())


def parts_with(hooks: list[SendHook]) -> ProducerParts:
    return ProducerParts("bench", None, ProducerStrategies(send_hooks=hooks))


def sends(hooks: list[SendHook], count: int) -> tuple[float, float]:
    """µs of a message that is awaited, and of one in a batch."""
    parts, clock = parts_with(hooks), SystemClock()
    pipeline = parts.pipeline(AtOnce(), clock, random.Random(1), "127.0.0.1", ClientSettings())
    api = SendApi(parts, pipeline, BlockingInFlightLimit(parts.in_flight_count()))
    message = Message("orders", BODY, tag="T")
    began = time.process_time()
    for _ in range(count):
        run_blocking(api.one(message, None, None, None, None))
    awaited = time.process_time() - began
    batch = [message] * BATCH
    began = time.process_time()
    for _ in range(count // BATCH):
        run_blocking(api.batch(batch, None, None, None, None))
    return awaited / count * 1e6, (time.process_time() - began) / (count // BATCH * BATCH) * 1e6


async def submits(hooks: list[SendHook], count: int) -> float:
    """µs of a message that is submitted, as `AsyncProducer.submit` does it."""
    parts, clock = parts_with(hooks), SystemClock()
    pipeline = parts.pipeline(AtOnce(), clock, random.Random(1), "127.0.0.1", ClientSettings())
    results = LoopResults(tuple(hooks)) if hooks else LoopResults()
    in_flight = AsyncInFlightLimit(parts.waiting_count(), clock)
    submitter = Submitter(pipeline, parts.settings, clock, in_flight, results)
    message, loop = Message("orders", BODY, tag="T"), asyncio.get_running_loop()
    preparing = getattr(pipeline, "preparing", None)
    began = time.process_time()
    for _ in range(count):
        each, operation = message, None
        if preparing is not None:
            prepared = preparing.begin((message,), "async")
            each, operation = prepared.messages[0], prepared.operation
        in_flight.acquire(len(BODY))
        item = Item(each, loop.create_future(), element_size(each), None)
        if operation is not None:
            item.operation = operation
        if submitter.add(item):
            await asyncio.sleep(0)
    await submitter.flush()
    return (time.process_time() - began) / count * 1e6


def measure(hooks: list[SendHook], count: int) -> dict[str, float]:
    """All three, after a warm-up."""
    sends(hooks, count // 10)
    awaited, batched = sends(hooks, count)
    asyncio.run(submits(hooks, count // 10))
    return {"awaited": awaited, "in a batch of 100": batched, "submitted": asyncio.run(submits(hooks, count))}


def of_checkout(folder: pathlib.Path, count: int) -> dict[str, float]:
    """The figures without hooks of the checkout in `folder`, measured by this script."""
    command = [str(folder / ".venv/bin/python"), __file__, "--plain", "--count", str(count)]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return {what: float(us) for what, us in re.findall(r"^(.+?)\s+([\d.]+) us$", done.stdout, re.MULTILINE)}


def compare(before: pathlib.Path, rounds: int, count: int) -> None:
    after = pathlib.Path(__file__).resolve().parent.parent
    table: dict[str, dict[pathlib.Path, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(rounds):
        for folder in (before, after)[:: 1 if turn % 2 == 0 else -1]:
            for what, us in of_checkout(folder, count).items():
                table[what][folder].append(us)
    for what, columns in table.items():
        old, new = columns[before], columns[after]
        medians = statistics.median(old), statistics.median(new)
        print(
            f"{what:20} before {medians[0]:7.2f}  after {medians[1]:7.2f} us"
            f"  ratio {medians[1] / medians[0]:5.3f}  of the best {min(new) / min(old):5.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=pathlib.Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=20_000, help="messages a figure")
    parser.add_argument("--plain", action="store_true", help="without hooks alone")
    chosen = parser.parse_args()
    if chosen.before is not None:
        compare(chosen.before.resolve(), chosen.rounds, chosen.count)
        return
    if chosen.plain:
        for what, us in measure([], chosen.count).items():
            print(f"{what:20} {us:.3f} us")
        return
    kinds = {"no hook": [], "watching": [Watching()], "setting": [Setting()], "opentelemetry": [telemetry()]}
    for name, hooks in kinds.items():
        figures = "  ".join(f"{what} {us:7.2f} us" for what, us in measure(hooks, chosen.count).items())
        print(f"{name:14} {figures}")


if __name__ == "__main__":
    sys.exit(main())

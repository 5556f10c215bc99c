"""What a scrape of a broker with many queues costs: its time, and how long the loop stands still for it.

    python bench/scrape.py --topics 1250 --queues 8 --behind 1

Each topic has a group that is `--behind` messages behind in each queue. While a scrape is made, each turn of
the loop is timed: the longest is the longest stall. With `--http` scrapes come through the metrics port,
packed, and its thread works beside the loop. Not part of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path

from mqframe_cli.processes.serving import YOUNG_OBJECTS_MAX
from mqframe_metrics import BrokerSource
from mqframe_metrics.serving.gathering import Gatherer
from mqframe_metrics.serving.server import MetricsServer
from mqframe_metrics.settings import MetricsSettings

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.net.clock import SystemClock
from mqframe.store.incoming import Incoming
from mqframe.store.settings import StoreSettings


async def stalls(seen: list[float]) -> None:
    """Note in `seen` how long each turn of the loop took, s of processor time: other programs run, too."""
    before = time.thread_time()
    while True:
        await asyncio.sleep(0)
        now = time.thread_time()
        seen.append(now - before)
        before = now


def fill(broker: Broker, topics: int, queues: int, behind: int) -> None:
    """Make topics with messages, and groups that lag behind in each queue."""
    registry, state = broker.service_port.registry, broker.service_port  # type: ignore[attr-defined]
    for number in range(topics):
        topic, group = f"topic-{number:05}", f"group-{number:05}"
        registry.topics.ensure(topic, queues)
        registry.groups.need(group, True)
        for queue_id in range(queues):
            registry.offsets.commit(group, topic, queue_id, 0)
            for _ in range(behind):
                broker.store.writes.put(Incoming(topic, queue_id, b"body", "", 0, b"\0" * 8, b"\0" * 8))
        state.counts.topic(topic).add(queues * max(1, behind), 100)
        state.counts.got(group, topic, queues, 100)
        if number % 100 == 0:
            broker.store.dispatch.now()
    broker.store.dispatch.now()


def fetched(address: str) -> bytes:
    """What a scrape through the metrics port gets, unpacked."""
    asked = urllib.request.Request(f"http://{address}/metrics", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return gzip.decompress(answer.read())


async def measure(options: argparse.Namespace) -> None:
    """Fill a broker, scrape it some times, print figures."""
    with tempfile.TemporaryDirectory() as folder:
        settings = BrokerSettings(port=0, vip_port=False)
        store = StoreSettings(directory=Path(folder), disk_limits=False)
        broker = Broker(BrokerSections(settings, store), SystemClock())
        await broker.start()
        try:
            fill(broker, options.topics, options.queues, options.behind)
            gc.collect()
            gc.freeze()
            gc.set_threshold(YOUNG_OBJECTS_MAX, 20, 20)  # as `mqframe server` does
            gatherer = Gatherer(MetricsSettings().series_max)
            gatherer.sources.append(BrokerSource(broker))
            server = MetricsServer(MetricsSettings(port=0), ())
            server.broker_started("broker", broker)
            await server.start()
            for number in range(options.rounds):
                await asyncio.sleep(1)
                turns: list[float] = []
                watch = asyncio.create_task(stalls(turns))
                await asyncio.sleep(0)
                began, used = time.perf_counter(), time.thread_time()
                if options.http:
                    parts = [await asyncio.to_thread(fetched, server.address)]
                else:
                    parts = await gatherer.text()
                took, used = time.perf_counter() - began, time.thread_time() - used
                watch.cancel()
                size = sum(map(len, parts))
                lines = sum(part.count(b"\n") for part in parts)
                longest, median = max(turns) * 1000, statistics.median(turns) * 1e6
                print(
                    f"round {number}: {took * 1000:.0f} ms, of the processor {used * 1000:.0f};"
                    f" {lines} lines, {size} bytes; longest turn {longest:.2f} ms, median {median:.0f} µs"
                )
            await server.stop()
        finally:
            await broker.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--topics", type=int, default=1250)
    parser.add_argument("--queues", type=int, default=8)
    parser.add_argument("--behind", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--http", action="store_true")
    asyncio.run(measure(parser.parse_args()))

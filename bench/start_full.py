#!/usr/bin/env python3
"""How long a broker and a name server need to start with their tables at the limits.

    start_full.py [--topics 100000] [--groups 20000] [--offsets 1000000] [--queues 0]

Fills the tables of a broker, stops it, and starts it again; prints the seconds of each part of the start.
`--queues`: queues that hold a message each, in addition.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import tempfile
import time
from typing import Any

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.log import show
from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.net.clock import SystemClock
from mqframe.store.settings import StoreSettings


def make(directory: pathlib.Path, nameserver: str) -> Broker:
    settings = BrokerSettings(port=0, vip_port=False, nameservers=(nameserver,))
    store = StoreSettings(directory=directory, disk_limits=False)
    return Broker(BrokerSections(settings, store), SystemClock())


def fill(broker: Broker, topics: int, groups: int, offsets: int, queues: int) -> None:
    state: Any = broker.service_port
    names = [f"topic-of-an-application-{number}" for number in range(topics - len(state.topics))]
    for name in names:
        state.topics.ensure(name, 8)
    for number in range(groups - len(state.groups)):
        state.groups.find_or_create(f"group-of-an-application-{number}", True)
    for number in range(offsets // 8):
        group = f"group-of-an-application-{number % groups}"
        for queue_id in range(8):
            state.offsets.commit(group, names[number % len(names)], queue_id, 0)
    for number in range(queues):
        state.writer.put(names[number // 8], number % 8, b"x", {}, born_timestamp=0)


async def measure(options: argparse.Namespace, directory: pathlib.Path) -> None:
    name_server = NameServer(NameServerSettings(port=0), SystemClock())
    await name_server.start()
    broker = make(directory, name_server.address)
    await broker.start()
    fill(broker, options.topics, options.groups, options.offsets, options.queues)
    began = time.perf_counter()
    await broker.stop()
    print(f"stop           {time.perf_counter() - began:6.2f} s", flush=True)
    began = time.perf_counter()
    broker = make(directory, name_server.address)
    opened = time.perf_counter()
    await broker.start()
    started = time.perf_counter()
    print(f"open the store {opened - began:6.2f} s")
    print(f"start          {started - opened:6.2f} s, with the registration", flush=True)
    await broker.stop()
    await name_server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topics", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=20_000)
    parser.add_argument("--offsets", type=int, default=1_000_000)
    parser.add_argument("--queues", type=int, default=0)
    options = parser.parse_args()
    show(level="ERROR")
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(measure(options, pathlib.Path(directory)))


if __name__ == "__main__":
    main()

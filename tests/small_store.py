"""A small store that was stopped in good order, for damaging it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mqframe_cli.stopped_store import known_store
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_store_tools.checking.log_reading import installed_reading
from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes
from mqframe_store_tools.checking.store_check import Checked, StoreCheck
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.messages.addresses import encode_host
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.reader import StoreReader
from mqframe.store.settings import StoreSettings

HOST = encode_host("127.0.0.1:1")
COUNT = 60
SIZES: dict[str, Any] = {
    "commit_log_file_bytes": 8192,
    "queue_file_bytes": 400,
    "disk_limits": False,
}
INDEX = IndexSettings(slots=7, entries=50)
OPEN_INDEX = FileIndexing(INDEX).open
PROGRESS = b'{"dataVersion":{"counter":1},"offsetTable":{"t@g":{0:12,1:20}}}'


def settings(root: Path, **changes: Any) -> StoreSettings:
    return StoreSettings(directory=root, **(SIZES | changes))


def fill(root: Path, *, stop: bool = True, count: int = COUNT, **changes: Any) -> StoreSettings:
    """`count` messages in two queues, a second apart; keys, tags; progress of a group."""
    clock = ManualClock()
    made = settings(root, **changes)
    store = MessageStore.open(made, clock, open_index=OPEN_INDEX)
    for n in range(count):
        properties = f"KEYS\x01k{n} all\x02TAGS\x01a\x02UNIQ_KEY\x01{n:032X}\x02"
        store.writes.put(Incoming("t", n % 2, b"%d:" % n * 60, properties, 1, HOST, HOST))
        clock.advance(1)
    store.dispatch.now()
    (root / "config").mkdir(exist_ok=True)
    (root / "config" / "consumerOffset.json").write_bytes(PROGRESS)
    if stop:
        asyncio.run(store.stop())
    else:
        store.abandon()
    return made


def checked(root: Path) -> Checked:
    """What a check says of the store in `root`; sizes are what the files tell."""
    layout = known_store(root)
    index = with_index_sizes(IndexSettings(), layout)
    return StoreCheck(layout, with_sizes(StoreSettings(), layout), index).run(installed_reading())


def messages(root: Path) -> list[tuple[Any, ...]]:
    """Every message, by queue."""
    reader = StoreReader(root)
    return [
        (m.topic, m.queue_id, m.queue_offset, m.commit_log_offset, m.body, m.raw_properties)
        for topic in reader.topics()
        for queue_id in reader.queue_ids(topic)
        for m in reader.records(topic, queue_id, *reader.queue_range(topic, queue_id))
    ]

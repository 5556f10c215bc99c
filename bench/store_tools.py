"""How long checks and rebuilds of a large store take.

    store_tools.py [--messages N] [--directory DIR] [--speedups FOLDER]

A store of N messages with a unique key each is made and stopped. It is checked, and opened as after a kill
with queues and index gone. Processor time is shown beside elapsed time, because elapsed time depends on what
else the machine does; the memory is that of the process at its largest, pages of the mapped log included.
`--directory` keeps the store for another run. With `--speedups` the compiled code that lies in that folder
reads the log.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mqframe_cli.stopped_store import known_store
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_store_tools.checking.log_reading import installed_reading
from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes
from mqframe_store_tools.checking.store_check import StoreCheck

from mqframe.core.messages.batch import encode_element
from mqframe.core.storage.recovery import Care
from mqframe.net.clock import SystemClock
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
BODY = b"x" * 100
QUEUES = 16
BATCH = 100
INDEX = IndexSettings()


def properties(number: int) -> bytes:
    return b"UNIQ_KEY\x017F000001000027C030946E09%08X\x02WAIT\x01true\x02TAGS\x01TagA\x02" % number


def fill(settings: StoreSettings, messages: int) -> None:
    store = MessageStore.open(settings, SystemClock(), open_index=FileIndexing(INDEX).open)
    for first in range(0, messages, BATCH):
        batch = b"".join(encode_element(BODY, properties(first + n)) for n in range(BATCH))
        store.writes.put_batch(Incoming("t", first // BATCH % QUEUES, b"", "", 1, HOST, HOST), batch)
        store.dispatch.now()
    print(f"{messages:,} messages, {store.log.max_offset / (1 << 30):.2f} GiB of log")
    asyncio.run(store.stop())


def measured(name: str, messages: int, work: Callable[[], Any]) -> Any:
    processor, elapsed = time.process_time(), time.perf_counter()
    result = work()
    processor, elapsed = time.process_time() - processor, time.perf_counter() - elapsed
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{name:42} elapsed {elapsed:6.1f} s, processor {processor:6.1f} s,"
        f" {processor / messages * 1e6:5.2f} us each; {memory} MiB",
        flush=True,
    )
    return result


def recover(settings: StoreSettings) -> None:
    root = settings.directory
    for name in ("consumequeue", "index"):
        shutil.rmtree(root / name)
    (root / "queue-ends").unlink(missing_ok=True)
    (root / "abort").touch()
    store = MessageStore.open(
        settings,
        SystemClock(),
        care=Care.THOROUGH,
        open_index=FileIndexing(INDEX).open,
        log_reading=installed_reading(),
    )
    store.abandon()


def check(settings: StoreSettings) -> None:
    layout = known_store(settings.directory)
    sizes = with_sizes(settings, layout), with_index_sizes(INDEX, layout)
    found = StoreCheck(layout, *sizes).run(installed_reading())
    assert not found.total, found.findings[:3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--messages", type=int, default=4_000_000)
    parser.add_argument("--speedups", type=Path, help="the folder with the compiled code")
    options = parser.parse_args()
    if options.speedups is None:
        os.environ["MQFRAME_SPEEDUPS"] = "0"
    else:
        sys.path.insert(0, str(options.speedups.resolve()))
    root = options.directory or Path(tempfile.mkdtemp(prefix="store-tools-"))
    settings = StoreSettings(directory=root, disk_limits=False)
    try:
        if not (root / "commitlog").is_dir():
            fill(settings, options.messages)
        measured("check of all files", options.messages, lambda: check(settings))
        measured("recovery, queues and index from the log", options.messages, lambda: recover(settings))
    finally:
        if options.directory is None:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()

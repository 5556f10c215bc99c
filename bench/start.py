"""How fast a store opens.

    start.py [--directory DIR] [--messages N] [--queues N] [--speedups FOLDER]

A child process fills the store and kills itself or stops; each start is a process of its own. Processor time
is shown beside elapsed time, because elapsed time depends on what else the machine does. With `--speedups`
the compiled code that lies in that folder reads the log.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_store_tools.checking.log_reading import installed_reading

from mqframe.core.messages.batch import encode_element
from mqframe.core.storage.log_reading import LogReading
from mqframe.net.clock import SystemClock
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

INDEX = FileIndexing(IndexSettings()).open
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
BODY = b"x" * 100
BATCH = 16


def opened(directory: Path, reading: type[LogReading] = LogReading) -> MessageStore:
    return MessageStore.open(
        StoreSettings(directory=directory, disk_limits=False),
        SystemClock(),
        open_index=INDEX,
        log_reading=reading,
    )


async def fill(directory: Path, count: int, queues: int) -> None:
    store = opened(directory)
    store.start()
    for first in range(0, count, BATCH):
        place = first // BATCH % queues
        elements = [
            encode_element(
                BODY, b"UNIQ_KEY\x017F000001000027C030946E09%08X\x02TAGS\x01TagA\x02" % (first + n)
            )
            for n in range(BATCH)
        ]
        store.writes.put_batch(
            Incoming(f"topic{place // 8}", place % 8, b"", "", 1, HOST, HOST), b"".join(elements)
        )
        if first % 64 == 0:
            store.dispatch.now()
            await asyncio.sleep(0)
    store.dispatch.now()
    print(f"{count} messages, {store.log.max_offset} bytes of log, {queues} queues", flush=True)
    await asyncio.sleep(1.2)
    os.kill(os.getpid(), signal.SIGKILL)


async def start(directory: Path, name: str) -> None:
    reading = installed_reading()  # a broker has its services imported by then
    elapsed, processor = time.perf_counter(), time.process_time()
    store = opened(directory, reading)
    elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
    held = sum(store.queues.max_offset(*place) for place in store.queues)
    print(
        f"{name:34} {elapsed:8.2f} s elapsed {processor:8.2f} s processor, {store.recovered.records} records"
        f" checked, {held} messages in queues",
        flush=True,
    )
    store.start()
    await store.stop()


def child(*arguments: object) -> None:
    subprocess.run([sys.executable, __file__, *map(str, arguments)], check=False)


def main(directory: Path, count: int, queues: int) -> None:
    child("--directory", directory, "--messages", count, "--queues", queues, "--fill")
    child("--directory", directory, "--start", "after a kill")
    child("--directory", directory, "--start", "after an orderly stop")
    shutil.rmtree(directory / "consumequeue")
    child("--directory", directory, "--start", "without queues")
    shutil.rmtree(directory / "index")
    child("--directory", directory, "--start", "without index")
    shutil.rmtree(directory / "consumequeue")
    shutil.rmtree(directory / "index")
    child("--directory", directory, "--start", "without both")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, help="where to make a temporary store")
    parser.add_argument("--messages", type=int, default=4_000_000)
    parser.add_argument("--queues", type=int, default=8)
    parser.add_argument("--speedups", type=Path, help="the folder with the compiled code")
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--start", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.speedups is not None:
        os.environ["PYTHONPATH"] = str(chosen.speedups.resolve())
    elif not (chosen.fill or chosen.start):
        os.environ["MQFRAME_SPEEDUPS"] = "0"
    if chosen.fill:
        asyncio.run(fill(chosen.directory, chosen.messages, chosen.queues))
    elif chosen.start:
        asyncio.run(start(chosen.directory, chosen.start))
    else:
        scratch = Path(tempfile.mkdtemp(dir=chosen.directory))
        try:
            main(scratch, chosen.messages, chosen.queues)
        finally:
            shutil.rmtree(scratch)

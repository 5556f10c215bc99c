#!/usr/bin/env python3
"""How fast a slave with an empty store catches up with its master, and what that costs both.

    slave_catch_up.py [--directory DIR] [--mib N] [--rounds N] [--speedups FOLDER]

A master gets a log of N MiB of messages of 1 KiB, written by its store. In each round the disk's own copy of
that log is measured, read from one file and written to another in pieces of 1 MiB, with fsync; then a slave
with an empty store joins on loopback. Its rate is that between the first MiB and all of the log, so that
starting is left out; processor time of master and slave is shown for it. The medians are at the end. With
`--speedups` both have the compiled code that lies in that folder.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_testing.ports import lasting_port
from mqframe_testing.server_process import ServerProcess
from replication import log_end, master, processor_seconds, slave

from mqframe import Admin
from mqframe.core.messages.batch import encode_element
from mqframe.net.clock import SystemClock
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
BODY = b"x" * 1024
BATCH = 64
QUEUES = 8
PIECE = 1 << 20


def fill(directory: Path, mib: int) -> None:
    """A stopped store with so many MiB of log."""
    settings = StoreSettings(directory=directory, disk_limits=False)
    store = MessageStore.open(settings, SystemClock(), open_index=FileIndexing(IndexSettings()).open)
    first = 0
    while store.log.max_offset < mib << 20:
        elements = [
            encode_element(
                BODY, b"UNIQ_KEY\x017F000001000027C030946E09%08X\x02TAGS\x01TagA\x02" % (first + n)
            )
            for n in range(BATCH)
        ]
        place = Incoming("orders", first // BATCH % QUEUES, b"", "", 1, HOST, HOST)
        store.writes.put_batch(place, b"".join(elements))
        store.dispatch.now()
        first += BATCH
    asyncio.run(store.stop())


def copied(source: Path, target: Path, size: int) -> float:
    """MB/s of a plain copy of the first `size` bytes of files in `source`, until all of it is on the disk."""
    started, left = time.perf_counter(), size
    for path in sorted(source.glob("[0-9]" * 20)):
        with path.open("rb") as read, (target / path.name).open("wb") as write:
            while left > 0 and (part := read.read(min(PIECE, left))):
                write.write(part)
                left -= len(part)
            write.flush()
            os.fsync(write.fileno())
    return size / 1e6 / (time.perf_counter() - started)


def caught_up(folder: Path, server: ServerProcess, master: int) -> tuple[float, float, float]:
    """MB/s of a slave that joins with its store below `folder`; processor seconds of its master and of it."""
    with ExitStack() as stack:
        admin, port = stack.enter_context(Admin(nameserver=server.nameserver)), lasting_port(-2)
        end, address = log_end(admin, server.broker), f"127.0.0.1:{port}"
        pids = master, stack.enter_context(slave(folder, server.nameserver, port))
        while (first := log_end(admin, address)) < PIECE:
            time.sleep(0.002)
        started, before = time.perf_counter(), [processor_seconds(pid) for pid in pids]
        while (now := log_end(admin, address)) < end:
            time.sleep(0.01)
        seconds = time.perf_counter() - started
        spent = [processor_seconds(pid) - each for pid, each in zip(pids, before, strict=True)]
        return (now - first) / 1e6 / seconds, *spent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, help="where to make temporary stores")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--speedups", type=Path, help="the folder with the compiled code")
    options = parser.parse_args()
    if options.speedups is not None:
        os.environ["PYTHONPATH"] = str(options.speedups.resolve())
    name = tempfile.mkdtemp(prefix="mqframe-bench-", dir=options.directory)
    rounds: list[tuple[float, ...]] = []
    try:
        folder = Path(name)
        log = folder / "ASYNC_MASTER-master/store/commitlog"
        with ExitStack() as stack:
            server, _ = master(stack, folder, "ASYNC_MASTER")
            stack.enter_context(Admin(nameserver=server.nameserver)).topics.create("orders", queues=QUEUES)
        fill(log.parent, options.mib)
        with ExitStack() as stack:
            server, pid = master(stack, folder, "ASYNC_MASTER")
            for number in range(options.rounds):
                target = folder / f"copy-{number}"
                target.mkdir()
                plain = copied(log, target, options.mib << 20)
                shutil.rmtree(target)
                rate, *spent = caught_up(folder / f"slave-{number}", server, pid)
                shutil.rmtree(folder / f"slave-{number}")
                rounds.append((plain, rate, *spent))
                tell(f"round {number + 1}", rounds[-1])
        tell("median", [statistics.median(each) for each in zip(*rounds, strict=True)])
    finally:
        shutil.rmtree(name)


def tell(what: str, figures: Sequence[float]) -> None:
    plain, rate, of_master, of_slave = figures
    print(
        f"{what:8}  {rate:5.0f} MB/s caught up   processor: master {of_master:5.2f} s,"
        f" slave {of_slave:5.2f} s  "
        f" plain copy with fsync {plain:5.0f} MB/s",
        flush=True,
    )


if __name__ == "__main__":
    main()

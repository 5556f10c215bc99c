"""How fast the store takes messages, alone: `python bench/store_append.py [--directory DIR] [--messages N]`.

Everything is on: commit log, consume queue, index by unique key. Processor time is shown beside elapsed time,
because elapsed time depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing

from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.java_hash import java_hash
from mqframe.net.clock import SystemClock
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

INDEX = FileIndexing(IndexSettings()).open
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
BODY = b"x" * 100


def properties(number: int) -> str:
    return f"UNIQ_KEY\x017F000001000027C030946E09{number:08X}\x02WAIT\x01true\x02TAGS\x01TagA\x02"


def report(name: str, count: int, work: Callable[[], object]) -> None:
    processor, elapsed = time.thread_time(), time.perf_counter()
    work()
    processor, elapsed = time.thread_time() - processor, time.perf_counter() - elapsed
    print(
        f"{name:42} {count / elapsed:12,.0f}/s elapsed {count / processor:12,.0f}/s processor"
        f" {processor / count * 1e6:8.2f} us each"
    )


def singles(store: MessageStore, count: int, turn: int) -> None:
    messages = [Incoming("t", n % 4, BODY, properties(n), 1, HOST, HOST) for n in range(count)]

    def work() -> None:
        for first in range(0, count, turn):
            for message in messages[first : first + turn]:
                store.writes.put(message)
            store.dispatch.now()

    report(f"put, {turn} a turn", count, work)


def batches(store: MessageStore, count: int, extra: bytes, name: str) -> None:
    ready = [
        b"".join(encode_element(BODY, properties(first + n).encode()) for n in range(100))
        for first in range(0, count, 100)
    ]

    def work() -> None:
        for batch in ready:
            store.writes.put_batch(Incoming("t", 0, b"", "", 1, HOST, HOST), batch, extra)
            store.dispatch.now()

    report(f"put_batch of 100, {name}", count, work)


def many_topics(store: MessageStore, topics: int) -> None:
    messages = [
        Incoming(f"topic-{n % topics}", n // topics, BODY, properties(n), 1, HOST, HOST)
        for n in range(topics * 4)
    ]

    def work(first: int) -> None:
        for message in messages[first : first + 16]:
            store.writes.put(message)
        store.dispatch.now()

    for what in ("first message of", "next message of"):
        report(
            f"put, {what} {topics * 4} queues",
            len(messages),
            lambda: [work(n) for n in range(0, len(messages), 16)],
        )


def reads(store: MessageStore) -> None:
    total = store.queues.max_offset("t", 0)

    def work() -> None:
        offset = 0
        while offset < total:
            offset = store.reads.get("t", 0, offset, 32).next_offset

    report("get, 32 at once", total, work)


def skips(store: MessageStore, count: int) -> None:
    tags = [b"TAGS\x01T%d\x02" % n for n in range(10)]
    batch = b"".join(encode_element(BODY, tags[n % 10]) for n in range(100))
    for _ in range(0, count, 100):
        store.writes.put_batch(Incoming("f", 0, b"", "", 1, HOST, HOST), batch, b"")
    store.dispatch.now()
    wanted = frozenset({java_hash("T3")})

    def work() -> None:
        offset = 0
        while offset < count:
            offset = store.reads.get("f", 0, offset, 32, codes=wanted).next_offset

    report("get by a tag that one in ten has", count, work)


async def sync_flush(directory: Path, senders: int, rounds: int) -> None:
    store = MessageStore.open(
        StoreSettings(directory=directory, flush="SYNC_FLUSH"), SystemClock(), open_index=INDEX
    )
    store.start()

    async def send() -> None:
        loop = asyncio.get_running_loop()
        for n in range(rounds):
            done = loop.create_future()
            stored = store.writes.put(Incoming("s", 0, BODY, properties(n), 1, HOST, HOST))
            store.confirming.when_confirmed(stored.end_offset, done.set_result)
            assert await done

    elapsed = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(senders)))
    elapsed = time.perf_counter() - elapsed
    print(f"SYNC_FLUSH, {senders} senders {senders * rounds / elapsed:27,.0f}/s elapsed")
    await store.stop()


async def main(directory: Path, count: int, topics: int, property_crc: bool) -> None:
    settings = StoreSettings(directory=directory / "a", property_crc=property_crc)
    store = MessageStore.open(settings, SystemClock(), open_index=INDEX)
    store.start()
    singles(store, count, 1)
    singles(store, count, 16)
    batches(store, count, b"CLUSTER\x01c\x02", "own unique keys")
    batches(store, count, b"CLUSTER\x01c\x02UNIQ_KEY\x017F000001000027C030946E0900000000\x02", "shared key")
    reads(store)
    skips(store, count)
    if topics:
        many_topics(store, topics)
    elapsed = time.perf_counter()
    await store.stop()
    print(f"stop {time.perf_counter() - elapsed:.3f} s")
    for after in ("orderly stop", "orderly stop, queue ends unknown", "kill"):
        if after == "orderly stop, queue ends unknown":
            (directory / "a" / "queue-ends").unlink()
        if after == "kill":
            (directory / "a" / "abort").write_text("1")
        elapsed = time.perf_counter()
        store = MessageStore.open(settings, SystemClock(), open_index=INDEX)
        elapsed = time.perf_counter() - elapsed
        queues, checked = len(list(store.queues)), store.recovered.records
        print(f"open after {after}: {elapsed:.3f} s, {checked} records checked, {queues} queues")
        await store.stop()
    await sync_flush(directory / "s", 64, 100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, help="where to make a temporary store")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--property-crc", action="store_true", help="with a CRC over each whole record")
    parser.add_argument("--topics", type=int, default=0, help="also write to this many topics of 4 queues")
    chosen = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(dir=chosen.directory))
    try:
        asyncio.run(main(scratch, chosen.messages, chosen.topics, chosen.property_crc))
    finally:
        shutil.rmtree(scratch)

"""Logs of any records, with damage, for whoever reads them in two ways."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import mqframe_speedups.log_reading as native
import pytest
from hypothesis import strategies as st

from mqframe.core.codes import SysFlag
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.log_reading import LogRuns
from mqframe.core.storage.property_crc import ROOM, fill_in
from mqframe.core.storage.record import BLANK_BYTES, MAGIC_BLANK, encode_record
from mqframe.store.files.layout import Layout, file_name

V4, V6 = encode_host("10.0.0.1:80"), encode_host("[::1]:80")
FILE_BYTES = 8192
QUEUE_BYTES = 400
BEGIN = 1_700_000_000_000
DELAYS = (1000, 5000)
SMALL_WINDOW = 700

Made = tuple[str, int, int, int, int, int, str, bool, bool]
"""Topic, queue id, step of the queue offset, body size, sys flag, step of the store time, properties, whether
its CRC is a property, whether its hosts are IPv6."""


class Counting(native.NativeLogReading):
    """Counts what it has said."""

    said: ClassVar[int] = 0

    def read(self, *arguments: Any, **options: Any) -> LogRuns | None:
        found = super().read(*arguments, **options)
        Counting.said += 0 if found is None else found.records
        return found


@contextmanager
def in_turns(reader: ModuleType) -> Iterator[None]:
    """Inside, compiled code and Python, in `reader`, read so little at once that they take turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "AT_LEAST", SMALL_WINDOW)
        patch.setattr(native, "AT_ONCE", SMALL_WINDOW)
        patch.setattr(reader, "ALONE_BYTES", 1)
        patch.setattr(reader, "LEFT_BYTES", 1)
        yield


def log_of(messages: list[Made]) -> list[bytes]:
    """The files of a log with these records."""
    files, now = [bytearray()], BEGIN
    offsets: dict[tuple[str, int], int] = {}
    for topic, queue_id, step, size, sys_flag, later, text, crc, v6 in messages:
        now += later
        key = topic, queue_id
        offset = max(offsets.get(key, 0) + step, -1)
        if not sys_flag & SysFlag.TRANSACTION_MASK or step:
            offsets[key] = offset + 1
        host = V6 if v6 else V4
        parts: dict[str, Any] = {
            "topic": topic, "queue_id": queue_id, "queue_offset": offset, "body": b"b" * size,
            "properties": text.encode() + (ROOM if crc else b""), "born_timestamp": 1, "born_host": host,
            "store_timestamp": now, "store_host": host, "sys_flag": sys_flag,
        }  # fmt: skip
        physical = (len(files) - 1) * FILE_BYTES + len(files[-1])
        record = encode_record(physical_offset=physical, **parts)
        if len(files[-1]) + len(record) + BLANK_BYTES > FILE_BYTES:
            room = FILE_BYTES - len(files[-1])
            files[-1] += struct.pack(">ii", room, MAGIC_BLANK)
            files.append(bytearray())
            physical = (len(files) - 1) * FILE_BYTES
            record = encode_record(physical_offset=physical, **parts)
        files[-1] += fill_in(record, [physical, physical + len(record)]) if crc else record
    return [bytes(file).ljust(FILE_BYTES, b"\0") for file in files]


def stored(root: Path, files: list[bytes]) -> Layout:
    layout = Layout(root)
    layout.commit_log.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files):
        (layout.commit_log / file_name(number * FILE_BYTES)).write_bytes(file)
    return layout


def tree(root: Path) -> dict[str, bytes]:
    """The bytes of log, queues and index."""
    folders = ("commitlog", "consumequeue", "index")
    files = [path for name in folders for path in (root / name).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


step = st.sampled_from([0] * 20 + [1, 2, -1, -2, -1000, 100_000])
texts = st.sampled_from(
    ["TAGS\x01a\x02UNIQ_KEY\x01{:032X}\x02"] * 8
    + [
        "", "KEYS\x01k{} all\x02", "KEYS\x01 a  b \x02TAGS\x01b", "MYKEYS\x01x\x02UNIQ_KEY\x01u{}",
        "TAGS\x01\x02", "TAGS\x01é😀\x02KEYS\x01ü{}\x02", "a\x01\0\x02", "DELAY\x012\x02TAGS\x01t\x02",
        "x\x01" + "9" * 10 + "\x02",
        "UNIQ_KEY\x01A\x02UNIQ_KEY\x01\x02", "a\x01b\x02" + "\0" * 600,
    ]
)  # fmt: skip
topics = st.sampled_from(["t"] * 12 + ["u", "tö", SCHEDULE_TOPIC, "", "%LMQ%l", "x" * 130, "gone", "a/b"])
flags = st.sampled_from(
    [0] * 16
    + [SysFlag.MULTI_TAGS, 1, SysFlag.TRANSACTION_PREPARED, SysFlag.TRANSACTION_COMMIT]
    + [SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK]
)
rarely = st.sampled_from([False] * 15 + [True])
message = st.tuples(
    topics, st.sampled_from([0, 0, 0, 1, -1]), step, st.sampled_from([0, 20, 300]), flags,
    st.sampled_from([0, 0, 1, 400, 1000, -3]), texts, rarely, rarely,
)  # fmt: skip
damage = st.lists(st.tuples(st.integers(0, 3 * FILE_BYTES), st.sampled_from([0, 1, 0x80, 0xFF])), max_size=2)


def numbered(messages: list[Made]) -> list[Made]:
    return [(*each[:6], each[6].format(number, number), *each[7:]) for number, each in enumerate(messages)]


def damaged(files: list[bytes], places: list[tuple[int, int]], cut: int | None) -> list[bytes]:
    whole = bytearray(b"".join(files))
    for at, bits in places:
        if at < len(whole):
            whole[at] = whole[at] ^ bits if bits else 0
    if cut is not None and cut < len(whole):
        whole[cut:] = bytes(len(whole) - cut)
    return [bytes(whole[at : at + FILE_BYTES]) for at in range(0, len(whole), FILE_BYTES)]


PLAIN: Made = ("t", 0, 0, 20, 0, 1, "TAGS\x01a\x02UNIQ_KEY\x01{:032X}\x02KEYS\x01k{}\x02", False, False)
GUARDED: Made = (*PLAIN[:7], True, False)
Recipe = tuple[list[Made], list[tuple[int, int]], int | None]
recipes = st.tuples(
    st.sampled_from([PLAIN, GUARDED]).flatmap(
        lambda usual: st.lists(st.one_of(st.just(usual), message), min_size=1, max_size=60)
    ),
    damage,
    st.one_of(st.none(), st.none(), st.integers(0, 2 * FILE_BYTES)),
)


def cooked(recipe: Recipe) -> list[bytes]:
    messages, places, cut = recipe
    return damaged(log_of(numbered(messages)), places, cut)

"""A log that is cut: what stays is all there is, what went is in a file, and no interruption shows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexed import small_index
from mqframe_replication.store.cutting import cut_log
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.codes import SysFlag
from mqframe.core.errors import StoreError
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.storage.log_scan import scan
from mqframe.core.storage.record import decode_record
from mqframe.hooks.manager import PluginManager
from mqframe.store.files.layout import Layout
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.cuts import cuts

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
NOW = 1_800_000_000_000
FILE = 4096
SENT = st.tuples(
    st.sampled_from(["plain", "batch", "delayed", "timer", "half", "commit", "op", "rollback"]),
    st.sampled_from(["a", "b"]),
    st.integers(0, 1),
    st.integers(0, 900),
    st.integers(0, 3),
)


def open_store(directory: Path, clock: ManualClock) -> MessageStore:
    return MessageStore.open(
        StoreSettings(
            directory=directory, commit_log_file_bytes=FILE, queue_file_bytes=200, disk_limits=False
        ),
        clock,
        open_index=small_index(5, 40),
    )  # fmt: skip


def send(store: MessageStore, number: int, sent: tuple[str, str, int, int, int]) -> None:
    kind, topic, queue, size, key = sent
    body = b"%d " % number + b"." * size
    keys = f"KEYS\x01k{key}\x02UNIQ_KEY\x01u{number}\x02"
    if kind == "batch":
        batch = b"".join(encode_element(body, keys.encode()) for _ in range(3))
        store.writes.put_batch(Incoming(topic, queue, b"", "", 1, HOST, HOST), batch, b"")
        return
    flag = {
        "half": SysFlag.TRANSACTION_NONE,
        "commit": SysFlag.TRANSACTION_COMMIT,
        "rollback": SysFlag.TRANSACTION_ROLLBACK,
    }.get(kind, SysFlag.TRANSACTION_NONE)
    place = {
        "delayed": (SCHEDULE_TOPIC, 2),
        "timer": (TIMER_TOPIC, 0),
        "half": (HALF_TOPIC, 0),
        "op": (OP_HALF_TOPIC, 0),
    }.get(kind, (topic, queue))
    more = {"delayed": "DELAY\x013\x02", "timer": f"TIMER_OUT_MS\x01{NOW + 60_000}\x02"}.get(kind, "")
    if kind == "op":
        body = b"0"
    store.writes.put(Incoming(*place, body, keys + more, 1, HOST, HOST, sys_flag=flag))


def shown(store: MessageStore) -> dict[str, Any]:
    """All that anybody is shown of a store."""
    found: dict[str, Any] = {"start": store.log.min_offset, "end": store.log.max_offset}
    for place in sorted(store.queues):
        low, high = store.queues.min_offset(*place), store.queues.max_offset(*place)
        if high == 0:
            continue  # a queue that never had a message is no queue for others
        messages, offset = [], low
        while offset < high:
            got = store.reads.get(*place, offset, 32, bytes_max=1 << 20)
            messages += [bytes(part) for part in got.parts]
            offset = got.next_offset
        times = [store.queues.offset_at(*place, NOW + at * 1000) for at in range(0, 40, 3)]
        found[str(place)] = (low, high, b"".join(messages), store.reads.entries(*place, low, 999), times)
    for topic in ("a", "b", SCHEDULE_TOPIC, TIMER_TOPIC, HALF_TOPIC, OP_HALF_TOPIC):
        for key in ("k0", "k1", "k2", "k3", *(f"u{number}" for number in range(40))):
            found[topic, key] = [bytes(record) for record in store.search.query(topic, key, 64).records]
    return found


def record_starts(directory: Path) -> list[int]:
    places = []
    for path in sorted((directory / "commitlog").iterdir()):
        base = int(path.name)
        records = list(scan(path.read_bytes(), base))
        places += [record.physical_offset for record in records]
        end = records[-1].end if records else base
    return [*places, end]


def log_bytes(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((directory / "commitlog").iterdir()))


@settings(max_examples=60, deadline=None)
@given(
    before=st.lists(SENT, max_size=12),
    tail=st.lists(SENT, min_size=1, max_size=12),
    after=st.lists(SENT, max_size=4),
    killed=st.booleans(),
    again=st.booleans(),
)
async def test_a_cut_store_is_one_that_never_had_the_tail(
    tmp_path_factory, before, tail, after, killed, again
) -> None:
    root = tmp_path_factory.mktemp("cut")
    shown_of = []
    for name in ("cut", "short"):
        clock = ManualClock(NOW)
        store = open_store(root / name, clock)
        for number, sent in enumerate(before):
            send(store, number, sent)
            store.dispatch.now()
            clock.advance(1)
        end = store.log.max_offset
        if name == "cut":
            for number, sent in enumerate(tail, 20):
                send(store, number, sent)
                store.dispatch.now()
                clock.advance(1)
            if killed:
                store.abandon()
            else:
                await store.stop()
            whole = log_bytes(root / name)
            made = cut_log(root / name, end, PluginManager().cut_backs(), why="a test", now_ms=NOW)
            kept = (root / name / "cut" / made.file).read_bytes()
            assert kept == whole[made.start : made.end]
            assert not any(whole[made.end :])
            if again:
                assert (
                    cut_log(root / name, end, PluginManager().cut_backs(), why="once more", now_ms=NOW).file
                    == ""
                )
            clock = ManualClock(NOW + 1000 * len(before))
            store = open_store(root / name, clock)
        states = [shown(store)]
        for number, sent in enumerate(after, 32):
            clock.advance(1)
            send(store, number, sent)
        store.dispatch.now()
        states.append(shown(store))
        store.abandon()
        shown_of.append(states)
    shutil.rmtree(root)
    assert shown_of[0] == shown_of[1]


class Killed(BaseException):
    """The process ends here."""


async def filled(directory: Path, count: int = 40) -> list[int]:
    clock = ManualClock(NOW)
    store = open_store(directory, clock)
    for number in range(count):
        send(store, number, ("plain", "ab"[number % 2], 0, 300, number % 4))
        store.dispatch.now()
        clock.advance(1)
    await store.stop()
    return record_starts(directory)


async def test_an_interrupted_cut_is_finished_by_the_next_start_or_never_began(tmp_path, monkeypatch) -> None:
    starts = await filled(tmp_path / "whole")
    offset = starts[13]
    await open_store(tmp_path / "whole", ManualClock(NOW)).stop()
    store = open_store(tmp_path / "whole", ManualClock(NOW))
    as_whole = shown(store)
    await store.stop()
    shutil.copytree(tmp_path / "whole", tmp_path / "expected")
    cut_log(tmp_path / "expected", offset, PluginManager().cut_backs(), why="a test", now_ms=NOW)
    store = open_store(tmp_path / "expected", ManualClock(NOW))
    as_cut = shown(store)
    store.abandon()
    assert as_whole != as_cut
    states, left = [], 0
    for calls in range(999):
        root, left = tmp_path / str(calls), calls
        shutil.copytree(tmp_path / "whole", root)

        def step() -> None:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1

        with monkeypatch.context() as patched:
            for name in ("replace", "rename", "unlink", "fsync", "fdatasync", "pwrite", "ftruncate", "open"):
                real = getattr(os, name)

                def call(*given, real=real, **more):
                    step()
                    return real(*given, **more)

                patched.setattr(os, name, call)
            try:
                cut_log(root, offset, PluginManager().cut_backs(), why="a test", now_ms=NOW)
                ended = True
            except Killed:
                ended = False
        # What a copy of the directory holds is what a killed process leaves.
        shutil.copytree(root, tmp_path / f"{calls}-left")
        shutil.rmtree(root)
        root = tmp_path / f"{calls}-left"
        store = open_store(root, ManualClock(NOW))
        now = shown(store)
        states.append(now == as_cut)
        assert now in (as_cut, as_whole)
        await store.stop()
        assert {cut.done for cut in cuts(Layout(root))} <= {True}
        files = sorted(path.name for path in (root / "cut").iterdir()) if (root / "cut").is_dir() else []
        assert files == ([f"{offset:020d}-0.json", f"{offset:020d}-0.records"] if states[-1] else [])
        shutil.rmtree(root)
        if ended:
            break
    assert states == sorted(states), "once cut, a later interruption never brings the tail back"
    assert set(states) == {True, False}


@pytest.mark.parametrize("number", range(41))
async def test_every_boundary_may_be_cut_at(tmp_path, number) -> None:
    root = tmp_path / "store"
    starts = await filled(root)
    whole = log_bytes(root)
    cut = cut_log(root, starts[number], PluginManager().cut_backs(), why="a test", now_ms=NOW)
    assert (cut.start, cut.records) == (starts[number], 40 - number)
    if number < 40:
        assert (root / "cut" / cut.file).read_bytes() == whole[cut.start : cut.end]
        assert [cut] == cuts(Layout(root))
        assert {each.topic: (each.start, each.end) for each in cut.queues} == {
            topic: (first, 20)
            for topic, first in (("a", (number + 1) // 2), ("b", number // 2))
            if first < 20
        }
    store = open_store(root, ManualClock(NOW))
    assert store.log.max_offset == starts[number]
    assert (store.queues.max_offset("a", 0), store.queues.max_offset("b", 0)) == (
        (number + 1) // 2,
        number // 2,
    )
    assert sum(len(store.search.query("ab"[each % 2], f"u{each}", 9).records) for each in range(40)) == number
    store.abandon()


async def test_only_the_start_of_a_record_is_cut_at_and_nothing_changes_otherwise(tmp_path) -> None:
    root = tmp_path / "store"
    starts = await filled(root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for offset, words in (
        (starts[3] + 1, f"the one before ends at {starts[3]}"),
        (starts[-1] + 4, f"the one before ends at {starts[-1]}"),
        (1 << 40, "has no offset"),
    ):
        with pytest.raises(StoreError, match=words):
            cut_log(root, offset, PluginManager().cut_backs(), why="a test", now_ms=NOW)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


async def test_a_record_that_ends_with_zeros_is_kept_to_its_last_byte(tmp_path) -> None:
    store = open_store(tmp_path, ManualClock(NOW))
    for _ in range(2):
        store.writes.put(Incoming("a", 0, b"body", "", 1, HOST, HOST))
    store.dispatch.now()
    await store.stop()
    starts, whole = record_starts(tmp_path), log_bytes(tmp_path)
    cut = cut_log(tmp_path, starts[1], PluginManager().cut_backs(), why="a test", now_ms=NOW)
    assert (cut.start, cut.end) == (starts[1], starts[2])
    assert (tmp_path / "cut" / cut.file).read_bytes() == whole[starts[1] : starts[2]]


async def test_the_store_of_a_running_broker_is_not_cut(tmp_path) -> None:
    root = tmp_path / "store"
    starts = await filled(root)
    store = open_store(root, ManualClock(NOW))
    with pytest.raises(StoreError, match="in use by another broker"):
        cut_log(root, starts[3], PluginManager().cut_backs(), why="a test", now_ms=NOW)
    assert store.log.max_offset == starts[-1]
    store.abandon()


async def test_what_was_cut_is_kept_beside_what_was_cut_before(tmp_path) -> None:
    root = tmp_path / "store"
    starts = await filled(root)
    first = cut_log(root, starts[30], PluginManager().cut_backs(), why="once", now_ms=NOW)
    second = cut_log(root, starts[20], PluginManager().cut_backs(), why="twice", now_ms=NOW + 1)
    third = cut_log(root, starts[20], PluginManager().cut_backs(), why="nothing is left", now_ms=NOW + 2)
    assert (first.records, second.records, third.records) == (10, 10, 0)
    assert third.file == ""
    assert [each.why for each in cuts(Layout(root))] == ["twice", "once"]
    messages = []
    for each in (second, first):
        raw = (root / "cut" / each.file).read_bytes()
        messages += [
            decode_record(raw, start - each.start).body.split()[0]
            for start in starts[:-1]
            if each.start <= start < each.end
        ]
    assert messages == [b"%d" % number for number in range(20, 40)]

"""Progress beside a log that is cut: put back to before the tail, where it counted on it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.storage.cut_tail import CutTail
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.transactions.rules import CHECK_GROUP
from mqframe.store.files.layout import Layout
from mqframe.store.incoming import Incoming
from mqframe.store.log.closed_log import ClosedLog
from mqframe.store.timer.checkpoint import TimerCheckpoint
from mqframe.store.upkeep.cut_progress import Progress, progress_before, put_back
from mqframe.store.upkeep.cutting import cut_log

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "config").mkdir()
    (tmp_path / "commitlog").mkdir()
    return Layout(tmp_path)


def save(layout: Layout, name: str, table: object) -> None:
    (layout.config / name).write_text(json.dumps({"offsetTable": table}))


def saved(layout: Layout, name: str) -> object:
    return json.loads((layout.config / name).read_text())["offsetTable"]


def tail(*records: tuple[str, int, int, str], ended: tuple[int, ...] = ()) -> CutTail:
    found = CutTail()
    for topic, queue_id, offset, properties in records:
        found.take(LogRecord(0, 100, topic, queue_id, offset, 0, 0, properties))
    found.ended(ended)
    return found


def cut(layout: Layout, records: CutTail, log_end: int = 1000) -> Progress:
    with ClosedLog(layout) as log:
        progress = progress_before(layout, records, log)
    for _ in range(2):  # an interruption lets it be done once more
        put_back(layout, progress, log_end)
    return progress


def test_groups_behind_a_cut_queue_go_on_at_its_end(layout) -> None:
    save(layout, "consumerOffset.json", {"t@g": {"0": 9, "1": 3}, "t@h": {"0": 2}, "u@g": {"0": 9}})
    cut(layout, tail(("t", 0, 5, ""), ("t", 0, 6, ""), ("t", 1, 3, "")))
    table = {"t@g": {"0": 5, "1": 3}, "t@h": {"0": 2}, "u@g": {"0": 9}}
    assert saved(layout, "consumerOffset.json") == table


def test_levels_go_back_by_what_was_delivered_and_not_behind_their_queues(layout) -> None:
    save(layout, "delayOffset.json", {"1": 10, "2": 10, "3": 10, "4": 1})
    delivered = [("t", 0, n, "DELAY\x011\x02") for n in range(3)] + [("t", 0, 9, "DELAY\x014\x02")] * 2
    cut(layout, tail(*delivered, (SCHEDULE_TOPIC, 1, 6, "")))
    assert saved(layout, "delayOffset.json") == {"1": 7, "2": 6, "3": 10, "4": 0}


def test_halves_whose_end_is_cut_are_open_again(layout) -> None:
    half, op = f"{HALF_TOPIC}@{CHECK_GROUP}", f"{OP_HALF_TOPIC}@{CHECK_GROUP}"
    save(layout, "consumerOffset.json", {half: {"0": 8}, op: {"0": 8}})
    cut(layout, tail((OP_HALF_TOPIC, 0, 7, ""), ended=(5,)))
    assert saved(layout, "consumerOffset.json") == {half: {"0": 5}, op: {"0": 0}}


def test_the_timer_takes_its_topic_in_again_up_to_the_cut(layout) -> None:
    checkpoint = TimerCheckpoint(layout.timer_checkpoint)
    checkpoint.advance(9000, 520, 30, 1)
    checkpoint.save(checkpoint.encode())
    layout.timer_log.mkdir()
    (layout.timer_log / f"{0:020d}").write_bytes(b"unit")
    layout.timer_wheel.write_bytes(b"wheel")
    out = "TIMER_OUT_MS\x017000\x02TIMER_DEQUEUE_MS\x018000\x02"
    cut(layout, tail(("t", 0, 0, out), (TIMER_TOPIC, 0, 25, "")))
    now = TimerCheckpoint(layout.timer_checkpoint)
    assert (now.read_time, now.position, now.queue_offset, now.master_offset) == (7000, 0, 0, 25)
    assert not layout.timer_wheel.exists()
    assert list(layout.timer_log.iterdir()) == []


def test_a_timer_that_the_tail_does_not_touch_stays(layout) -> None:
    checkpoint = TimerCheckpoint(layout.timer_checkpoint)
    checkpoint.advance(9000, 520, 30, 1)
    checkpoint.save(checkpoint.encode())
    before = layout.timer_checkpoint.read_bytes()
    assert cut(layout, tail(("t", 0, 0, ""))).timer is None
    assert layout.timer_checkpoint.read_bytes() == before


def test_dispatchers_go_on_at_the_end_of_the_log(layout) -> None:
    save(layout, "dispatchers.json", {"lake": 4000, "other": 10})
    cut(layout, tail(("t", 0, 0, "")), 1000)
    assert saved(layout, "dispatchers.json") == {"lake": 1000, "other": 10}


def test_a_store_without_progress_has_none(layout) -> None:
    assert cut(layout, tail(("t", 0, 5, "DELAY\x011\x02"), ended=(1,))) == Progress()
    assert list(layout.config.iterdir()) == []


REVIVE = "rmq_sys_REVIVE_LOG_c"
REVIVER = f"{REVIVE}@CID_RMQ_SYS_REVIVE_GROUP"


def popping(opened, message, clock, layout: Layout) -> list[int]:
    """A store with check points of pops from offsets 0, 10, 20 … of a queue, one a second; where they lie."""
    store, places = opened(layout.root), []
    layout.config.mkdir(exist_ok=True)
    for number in range(6):
        body = b'{"t":"t","c":"g","q":2,"so":%d,"n":1}' % (10 * number)
        places.append(store.writes.put(message(REVIVE, 1, body, TAGS="ck")).commit_log_offset)
        clock.advance(1)
    retry = f"1ST_POP_TIME\x01{clock.now_ms() - 4000}\x02"
    more = store.writes.put(Incoming("%RETRY%g_t", 0, b"back", retry, 1, HOST, HOST))
    store.writes.put(message(REVIVE, 1, b"{", TAGS="ck"))
    store.dispatch.now()
    asyncio.run(store.stop())
    return [*places, more.commit_log_offset]


def test_pops_whose_check_points_are_cut_are_read_again(opened, message, clock, tmp_path) -> None:
    layout = Layout(tmp_path / "store")
    places = popping(opened, message, clock, layout)
    save(layout, "consumerOffset.json", {"t@g": {"2": 60, "1": 60}, "t@h": {"2": 60}, REVIVER: {"1": 5}})
    cut_log(layout.root, places[4], why="a test", now_ms=1)
    # Of check points that are not cut one may have been given back by what is.
    table = {"t@g": {"2": 40, "1": 60}, "t@h": {"2": 60}, REVIVER: {"1": 1}}
    assert saved(layout, "consumerOffset.json") == table


def test_what_was_given_back_and_is_cut_is_given_back_again(opened, message, clock, tmp_path) -> None:
    layout = Layout(tmp_path / "store")
    places = popping(opened, message, clock, layout)
    save(layout, "consumerOffset.json", {REVIVER: {"1": 5, "0": 3}, "t@g": {"2": 60}})
    cut_log(layout.root, places[6], why="a test", now_ms=1)
    assert saved(layout, "consumerOffset.json") == {REVIVER: {"1": 1, "0": 3}, "t@g": {"2": 60}}


def test_what_was_given_back_without_a_check_point_is_popped_again(opened, message, clock, tmp_path) -> None:
    layout = Layout(tmp_path / "store")
    store = opened(layout.root)
    for number in range(6):
        store.writes.put(message("t", 2, b"body", UNIQ_KEY=f"u{number}"))
        store.writes.put(message("t", 1, b"body", UNIQ_KEY=f"v{number}"))
    popped = {"1ST_POP_TIME": str(clock.now_ms())}
    cut_at = store.writes.put(message("%RETRY%g_t", 0, b"body", UNIQ_KEY="u3", **popped)).commit_log_offset
    store.writes.put(message("%RETRY%g+t", 0, b"body", UNIQ_KEY="u4", **popped))
    store.writes.put(message("%RETRY%h_t", 0, b"body", UNIQ_KEY="v1"))  # sent back by a consumer
    store.dispatch.now()
    asyncio.run(store.stop())
    layout.config.mkdir(exist_ok=True)
    save(layout, "consumerOffset.json", {"t@g": {"2": 6, "1": 6}, "t@h": {"2": 6, "1": 6}})
    cut_log(layout.root, cut_at, why="a test", now_ms=1)
    table = {"t@g": {"2": 3, "1": 6}, "t@h": {"2": 6, "1": 6}}
    assert saved(layout, "consumerOffset.json") == table

"""Progress beside a log that is cut is put back to before the tail, where it counted on it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.cut_tail import CutTail
from mqframe_replication.store.cutting import cut_log
from mqframe_replication.store.progress_before import progress_before
from mqframe_replication.store.store_to_cut import StoreToCut

from mqframe.core.storage.log_scan import LogRecord
from mqframe.hooks.interfaces import CutBack, FileChange, OffsetPlace, StoppedStore
from mqframe.hooks.manager import PluginManager
from mqframe.store.files.layout import Layout
from mqframe.store.incoming import Incoming
from mqframe.store.upkeep.cut_progress import CutProgress, put_back

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


def tail(*records: tuple[str, int, int]) -> CutTail:
    found = CutTail()
    for topic, queue_id, offset in records:
        found.take(LogRecord(0, 100, topic, queue_id, offset, 0, 0, ""))
    return found


def cut(layout: Layout, records: CutTail, *services: CutBack, log_end: int = 1000) -> CutProgress:
    with ClosedLog(layout) as log:
        progress = progress_before(StoreToCut(layout, records, log), services)
    for _ in range(2):  # an interruption lets it be done once more
        put_back(layout, progress, log_end)
    return progress


def test_groups_behind_a_cut_queue_go_on_at_its_end(layout) -> None:
    save(layout, "consumerOffset.json", {"t@g": {"0": 9, "1": 3}, "t@h": {"0": 2}, "u@g": {"0": 9}})
    cut(layout, tail(("t", 0, 5), ("t", 0, 6), ("t", 1, 3)))
    table = {"t@g": {"0": 5, "1": 3}, "t@h": {"0": 2}, "u@g": {"0": 9}}
    assert saved(layout, "consumerOffset.json") == table


class Keeper(CutBack):
    """Keeps three files beside the log, and wants a group of it further back than its queue."""

    def offset(self, place: OffsetPlace, offset: int, store: StoppedStore) -> int:
        return 2 if place == ("t", "g", 0) else offset

    def files(self, store: StoppedStore) -> list[FileChange]:
        assert (store.first_cut("t", 0), store.first_cut("t", 1)) == (5, None)
        return [
            FileChange("config/kept.json", b"{}"),
            FileChange("kept/page", b"0" * 10),
            FileChange("old"),
            FileChange("folder"),
            FileChange("none"),
        ]


def test_services_put_back_groups_and_files(layout) -> None:
    save(layout, "consumerOffset.json", {"t@g": {"0": 9, "1": 9}, "t@h": {"0": 9}})
    (layout.config / "kept.json").write_text('{"former": 1}')
    (layout.root / "old").touch()
    (layout.root / "folder").mkdir()
    (layout.root / "folder" / "part").touch()
    cut(layout, tail(("t", 0, 5)), Keeper())
    assert saved(layout, "consumerOffset.json") == {"t@g": {"0": 2, "1": 9}, "t@h": {"0": 5}}
    assert (layout.config / "kept.json").read_bytes() == b"{}"
    assert (layout.root / "kept/page").read_bytes() == b"0" * 10
    assert list((layout.root / "folder").iterdir()) == []
    assert not (layout.root / "old").exists()


def test_a_store_without_progress_has_none(layout) -> None:
    assert cut(layout, tail(("t", 0, 5)), *PluginManager().cut_backs()) == CutProgress()
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
    cut_log(layout.root, places[4], PluginManager().cut_backs(), why="a test", now_ms=1)
    # Of check points that are not cut one may have been given back by what is.
    table = {"t@g": {"2": 40, "1": 60}, "t@h": {"2": 60}, REVIVER: {"1": 1}}
    assert saved(layout, "consumerOffset.json") == table


def test_what_was_given_back_and_is_cut_is_given_back_again(opened, message, clock, tmp_path) -> None:
    layout = Layout(tmp_path / "store")
    places = popping(opened, message, clock, layout)
    save(layout, "consumerOffset.json", {REVIVER: {"1": 5, "0": 3}, "t@g": {"2": 60}})
    cut_log(layout.root, places[6], PluginManager().cut_backs(), why="a test", now_ms=1)
    assert saved(layout, "consumerOffset.json") == {REVIVER: {"1": 1, "0": 3}, "t@g": {"2": 60}}


async def test_what_was_given_back_without_a_check_point_is_popped_again(
    opened, message, clock, tmp_path
) -> None:
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
    await store.stop()
    layout.config.mkdir(exist_ok=True)
    save(layout, "consumerOffset.json", {"t@g": {"2": 6, "1": 6}, "t@h": {"2": 6, "1": 6}})
    cut_log(layout.root, cut_at, PluginManager().cut_backs(), why="a test", now_ms=1)
    table = {"t@g": {"2": 3, "1": 6}, "t@h": {"2": 6, "1": 6}}
    assert saved(layout, "consumerOffset.json") == table

"""Reports of what was cut off a log: a start finishes what is left of a cut, or says what it cannot read."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from mqframe.core.errors import StoreError
from mqframe.hooks.interfaces import FileChange
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.cut_progress import CutProgress
from mqframe.store.upkeep.cuts import Cut, cuts, finish_cuts, report
from mqframe.store.upkeep.quarantine import LostEntries


@pytest.fixture
def filled(opened, message, tmp_path: Path) -> tuple[Layout, list[int]]:
    """A stopped store of ten messages, and where these lie."""
    store = opened(commit_log_file_bytes=1 << 16)
    places = [store.writes.put(message("t", 0, b"%d" % n * 300)).commit_log_offset for n in range(10)]
    store.dispatch.now()
    asyncio.run(store.stop())
    return Layout(tmp_path / "store"), places


def reported(layout: Layout, start: int, end: int, *, done: bool) -> Cut:
    """A report of a cut, with the file that it speaks of."""
    layout.cut.mkdir()
    name = f"{start:020d}-0.records"
    with (layout.commit_log / f"{0:020d}").open("rb") as file:
        file.seek(start)
        (layout.cut / name).write_bytes(file.read(end - start))
    progress = CutProgress([FileChange("config/kept.json", b"{}")])
    made = Cut(start, end, 3, name, 1, "a test", [LostEntries("t", 0, 7, 10)], 5, progress, done)
    report(layout, made)
    return made


def test_a_cut_that_was_reported_is_finished_by_the_next_start(filled, opened, tmp_path) -> None:
    layout, places = filled
    end = places[9] + places[1] - places[0]
    layout.config.mkdir(exist_ok=True)
    made = reported(layout, places[7], end, done=False)
    store = opened()
    assert store.log.max_offset == places[7]
    assert store.queues.max_offset("t", 0) == 7
    assert cuts(layout) == [msgspec.structs.replace(made, done=True)]
    assert (layout.config / "kept.json").read_bytes() == b"{}"
    raw = (layout.commit_log / f"{0:020d}").read_bytes()
    assert not any(raw[places[7] :])


def test_a_cut_that_is_done_is_left_alone(filled, opened) -> None:
    layout, places = filled
    reported(layout, places[7], places[8], done=True)
    store = opened()
    assert store.log.max_offset > places[9]
    assert not (layout.config / "kept.json").exists()


def test_a_copy_without_a_report_is_removed_for_the_log_still_holds_it(filled) -> None:
    layout, _ = filled
    layout.cut.mkdir()
    for name in (f"{0:020d}-0.records", f"{0:020d}-1.records.unfinished", f"{0:020d}-2.json.tmp"):
        (layout.cut / name).write_bytes(b"x")
    finish_cuts(layout)
    assert os.listdir(layout.cut) == []


@pytest.mark.parametrize("broken", [b"{", b'{"file":"\xb4"}'])
def test_a_report_that_cannot_be_read_stops_the_start_with_a_sentence(filled, opened, broken) -> None:
    layout, _ = filled
    layout.cut.mkdir()
    (layout.cut / "1.json").write_bytes(broken)
    with pytest.raises(StoreError, match="move it away to go on"):
        opened()

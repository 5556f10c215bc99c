"""What a killed process knew of its page cache."""

from __future__ import annotations

import os
import shutil

import pytest

from mqframe.store.files.layout import Layout
from mqframe.store.upkeep import dispatch_mark
from mqframe.store.upkeep.dispatch_mark import CHECKED_AGAIN_BYTES, DispatchMark


@pytest.fixture
def layout(tmp_path):
    made = Layout(tmp_path)
    made.abort.write_text("1")
    return made


def test_it_stays_behind_what_is_dispatched(layout) -> None:
    mark = DispatchMark(layout, lambda: "boot")
    assert mark.trusted() is None
    for done, said in ((100, 100), (200, 100), (CHECKED_AGAIN_BYTES + 99, 100)):
        mark.note(done)
        assert DispatchMark(layout, lambda: "boot").trusted() == said
    mark.note(CHECKED_AGAIN_BYTES + 100)
    assert mark.trusted() == 100
    mark.note(3 * CHECKED_AGAIN_BYTES)
    assert mark.trusted() == CHECKED_AGAIN_BYTES + 100
    mark.clear()
    assert mark.trusted() is None


def test_it_counts_for_one_boot_and_one_process(layout, tmp_path) -> None:
    DispatchMark(layout, lambda: "boot").note(7)
    assert DispatchMark(layout, lambda: "boot").trusted() == 7
    assert DispatchMark(layout, lambda: "another").trusted() is None
    assert DispatchMark(layout, lambda: "").trusted() is None
    shutil.copytree(tmp_path, tmp_path / "copy")
    assert DispatchMark(Layout(tmp_path / "copy"), lambda: "boot").trusted() is None
    os.utime(layout.abort)
    assert DispatchMark(layout, lambda: "boot").trusted() is None


def test_no_damaged_one_counts(layout) -> None:
    mark = DispatchMark(layout, lambda: "boot")
    mark.note(7)
    good = layout.dispatched.read_bytes()
    for at in range(len(good)):
        layout.dispatched.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert mark.trusted() is None
    layout.dispatched.write_bytes(good[:-1])
    assert mark.trusted() is None


@pytest.mark.parametrize("copied", [False, True])
async def test_a_start_after_a_kill_checks_the_last_part_of_the_log(
    opened, message, clock, tmp_path, monkeypatch, copied
):
    monkeypatch.setattr(dispatch_mark, "CHECKED_AGAIN_BYTES", 32 << 10)

    store = opened(commit_log_file_bytes=64 << 10)
    store.start()
    for n in range(90):
        store.writes.put(message("t", n % 3, bytes(1 << 10), KEYS=f"k{n}"))
        store.dispatch.now()
        await clock.aadvance(1)
    store.abandon()
    place = tmp_path / "store"
    if copied:
        shutil.copytree(place, tmp_path / "copy")
        place = tmp_path / "copy"
    store = opened(place, commit_log_file_bytes=64 << 10)
    # In a copy nothing tells that all of it was written.
    assert store.recovered.records < 70 or copied
    assert sum(store.queues.max_offset("t", n) for n in range(3)) == 90
    assert [len(store.search.query("t", f"k{n}", 2).records) for n in range(90)] == [1] * 90

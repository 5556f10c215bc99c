from __future__ import annotations

import pytest

from mqframe.core.storage.damage import Stretch
from mqframe.core.storage.log_scan import scan
from mqframe.store.upkeep.quarantine import LostEntries, Quarantine
from mqframe.store.upkeep.setting_aside import SettingAside

FILE = 4096


@pytest.fixture
def store(opened, message):
    store = opened(commit_log_file_bytes=FILE)
    store.places = [
        store.writes.put(message("tu"[n % 2], 0, b"%d" % n * 100)).commit_log_offset for n in range(30)
    ]
    store.dispatch.now()
    return store


def aside(store, tmp_path):
    return SettingAside(store._commit_log, store.files.queues, Quarantine(tmp_path / "aside"), lambda: 77)


def test_what_queues_list_of_a_stretch(store, tmp_path):
    start, end = store.places[4], store.places[7]
    assert aside(store, tmp_path).listed(Stretch(start, end, False)) == [
        LostEntries("t", 0, 2, 4),
        LostEntries("u", 0, 2, 3),
    ]
    assert (
        aside(store, tmp_path).listed(Stretch(store.log.max_offset, store.log.max_offset + 100, False)) == []
    )


def test_readers_of_log_and_queues_pass_over_it(store, tmp_path):
    log, start, end = store._commit_log, store.places[4], store.places[7]
    raw = bytes(log.slice(start, end - start))
    lost = [LostEntries("t", 0, 2, 4), LostEntries("u", 0, 2, 3), LostEntries("gone", 1, 5, 9)]
    report = aside(store, tmp_path).set_aside(Stretch(start, end, False), lost, 5)
    assert (report.records, report.found_ms, report.after_ms) == (7, 77, 5)
    assert (tmp_path / "aside" / report.copy).read_bytes() == raw
    assert Quarantine(tmp_path / "aside").reports() == [report]
    listed = [record.physical_offset for record in scan(log.files[0].view, 0) if record.has_queue_entry]
    assert listed == [place for place in store.places if place < FILE and not start <= place < end]
    found = store.reads.get("t", 0, 2, 1)
    assert (found.count, found.next_offset) == (0, 3)
    assert store.reads.get("t", 0, 4, 1).count == 1
    # The offsets of what is lost are never given away again, whatever the queue knew of them.
    assert store.queues.max_offset("gone", 1) == 9


def test_what_a_cut_takes_away_is_kept(store, tmp_path):
    end = store.places[-2]
    assert end > FILE
    aside(store, tmp_path).keep_tail(end)
    (copy,) = (tmp_path / "aside").iterdir()
    assert copy.name == f"{end:020d}-0.bytes"
    # The records have no properties: their last bytes are zeros, which are not copied.
    assert copy.read_bytes() == bytes(store._commit_log.slice(end, store.log.max_offset - end)).rstrip(b"\0")
    aside(store, tmp_path).keep_tail(store.log.max_offset)
    assert len(list((tmp_path / "aside").iterdir())) == 1

from __future__ import annotations

import json

from mqframe.store.upkeep.quarantine import LostEntries, Quarantine, QuarantineReport


def test_copies_never_replace_one_another(tmp_path):
    quarantine = Quarantine(tmp_path / "store/quarantine")
    names = [quarantine.copy(memoryview(data), 4096) for data in (b"one", b"two", b"three")]
    assert names == [f"{4096:020d}-{n}.bytes" for n in range(3)]
    assert [(quarantine.directory / name).read_bytes() for name in names] == [b"one", b"two", b"three"]


def test_zeros_are_copied_as_holes(tmp_path):
    data = bytes(1 << 20) + b"x" + bytes(3 << 20) + b"y"
    quarantine = Quarantine(tmp_path / "quarantine")
    path = quarantine.directory / quarantine.copy(memoryview(data), 0)
    assert path.read_bytes() == data
    assert quarantine.directory.joinpath(quarantine.copy(memoryview(bytes(99)), 0)).read_bytes() == bytes(99)


def test_reports_are_read_again_in_order(tmp_path):
    quarantine = Quarantine(tmp_path / "quarantine")
    assert quarantine.reports() == []
    later = QuarantineReport(
        900, 1000, False, quarantine.copy(memoryview(b"b"), 900), 5, 4, [LostEntries("t", 1, 7, 9)]
    )
    earlier = QuarantineReport(100, 200, True, quarantine.copy(memoryview(b"a"), 100), 5, 4)
    path = quarantine.report(later)
    quarantine.report(earlier)
    assert quarantine.reports() == [earlier, later]
    assert (later.records, earlier.records) == (2, 0)
    assert json.loads(path.read_bytes())["queues"] == [{"topic": "t", "queue_id": 1, "start": 7, "end": 9}]
    for broken in (b"{", b'{"copy":"\xb4"}'):
        path.write_bytes(broken)
        assert quarantine.reports() == [earlier]

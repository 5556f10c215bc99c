"""The note of where queues and index end."""

from __future__ import annotations

from mqframe.store.queues.queue_ends import QueueEnds, read_ends, save_note

ENDS = QueueEnds([0, 4096], 5000, b"c", {"t": [(0, [0, 200], 3, 0, 14, 4990)]}, [("2026", 7, 4800)], True)


def test_what_was_saved_is_read(tmp_path) -> None:
    path = tmp_path / "queue-ends"
    assert read_ends(path) is None
    save_note(path, ENDS.encode())
    assert read_ends(path) == ENDS
    assert [each.name for each in tmp_path.iterdir()] == ["queue-ends"]


def test_no_damaged_note_is_read(tmp_path) -> None:
    path = tmp_path / "queue-ends"
    good = ENDS.encode()
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :])
        assert read_ends(path) is None
        path.write_bytes(good[:at])
        assert read_ends(path) is None

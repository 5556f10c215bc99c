from __future__ import annotations

from random import Random
from typing import Any

import pytest
from trust.disk import (
    ROOT,
    SECTOR,
    Content,
    Disk,
    Event,
    Made,
    Named,
    Renamed,
    Sized,
    Synced,
    SyncedAll,
    SyncFailed,
    Unnamed,
    Wrote,
)

FILE, OTHER, FOLDER = 1, 2, 3
NEW = [Made(FILE, False), Named(ROOT, "a", FILE)]


def states(*events: Event) -> set[Any]:
    """All states that a loss of power was seen to leave: names with bytes, in the order of names."""
    disk = Disk()
    for event in events:
        disk.take(event)
    found = set()
    for seed in range(400):
        image = disk.left(Random(seed))
        found.add(tuple((path, content.bytes()) for path, content in sorted(image.files.items())))
    return found


def contents(*events: Event) -> set[bytes]:
    return {dict(state)["a"] for state in states(*NEW, Synced(ROOT), *events)}


def test_what_was_synced_is_there() -> None:
    assert states(*NEW, Wrote(FILE, 0, b"x"), Synced(FILE), Synced(ROOT)) == {(("a", b"x"),)}
    assert states(*NEW, Wrote(FILE, 0, b"x"), SyncedAll()) == {(("a", b"x"),)}


def test_a_name_is_lost_without_a_sync_of_its_directory() -> None:
    assert states(*NEW, Wrote(FILE, 0, b"x"), Synced(FILE)) == {(), (("a", b"x"),)}


def test_a_folder_that_was_not_synced_takes_its_files_along() -> None:
    inside = [Made(FOLDER, True), Named(ROOT, "f", FOLDER), Made(FILE, False), Named(FOLDER, "a", FILE)]
    assert states(*inside, Synced(FILE), Synced(FOLDER)) == {(), (("f/a", b""),)}
    assert states(*inside, Synced(FILE), Synced(FOLDER), Synced(ROOT)) == {(("f/a", b""),)}


def test_bytes_and_size_may_be_lost_apart() -> None:
    assert contents(Wrote(FILE, 0, b"x")) == {b"", b"x", b"\0"}
    assert contents(Sized(FILE, 2), Synced(FILE), Wrote(FILE, 0, b"xy")) == {b"\0\0", b"xy"}


def test_a_sector_is_written_whole_as_it_was_at_some_time() -> None:
    found = contents(Sized(FILE, 2), Synced(FILE), Wrote(FILE, 0, b"x"), Wrote(FILE, 1, b"y"))
    assert found == {b"\0\0", b"x\0", b"xy"}


def test_sectors_are_lost_in_any_order() -> None:
    size = 2 * SECTOR
    found = contents(Sized(FILE, size), Synced(FILE), Wrote(FILE, 0, b"x" * size))
    x, nothing = b"x" * SECTOR, bytes(SECTOR)
    assert found == {a + b for a in (x, nothing) for b in (x, nothing)}


def test_a_rename_is_one_change() -> None:
    two = [*NEW, Wrote(FILE, 0, b"old"), Made(OTHER, False), Named(ROOT, "b", OTHER), Wrote(OTHER, 0, b"new")]
    found = states(*two, Synced(FILE), Synced(OTHER), Synced(ROOT), Renamed(ROOT, "b", ROOT, "a", OTHER))
    assert found == {(("a", b"old"), ("b", b"new")), (("a", b"new"),)}


def test_a_removed_file_may_come_back() -> None:
    assert states(*NEW, Synced(ROOT), Unnamed(ROOT, "a")) == {(), (("a", b""),)}


def test_what_follows_a_file_that_shrank_is_not_there_without_it() -> None:
    again = [Sized(FILE, 1), Sized(FILE, 2), Wrote(FILE, 1, b"z")]
    found = contents(Wrote(FILE, 0, b"xy"), Synced(FILE), *again)
    assert found == {b"xy", b"x", b"x\0", b"xz"}


def test_what_a_failed_sync_did_not_write_is_never_written() -> None:
    sized = [Sized(FILE, 2), Synced(FILE)]
    assert contents(*sized, Wrote(FILE, 0, b"x"), SyncFailed(FILE), Synced(FILE)) == {b"\0\0"}
    assert contents(*sized, Wrote(FILE, 0, b"x"), SyncFailed(FILE), Wrote(FILE, 1, b"y"), Synced(FILE)) == {
        b"\0y"
    }


def test_a_seed_gives_the_same_image() -> None:
    disk = Disk()
    for event in [*NEW, *(Wrote(FILE, at * SECTOR, b"x" * SECTOR) for at in range(20))]:
        disk.take(event)
    first, again = disk.left(Random(3)), disk.left(Random(3))
    assert first.how == again.how
    assert {path: content.bytes() for path, content in first.files.items()} == {
        path: content.bytes() for path, content in again.files.items()
    }


@pytest.mark.parametrize("seed", range(20))
def test_contents_are_what_a_byte_array_would_hold(seed: int) -> None:
    chance, content, model = Random(seed), Content(), bytearray()
    for _ in range(50):
        at, size = chance.randrange(10_000), chance.randrange(6000)
        if chance.random() < 0.3:
            content.resize(at)
            del model[at:]
            model += bytes(at - len(model))
        else:
            data = chance.randbytes(size)
            content.write(at, data)
            model += bytes(max(0, at + size - len(model)))
            model[at : at + size] = data
        assert content.bytes() == model

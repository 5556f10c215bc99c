from __future__ import annotations

import errno
import mmap
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from trust.crashes import lay_out
from trust.disk import Disk, Event, Noted, Synced, SyncFailed, Wrote
from trust.seam import SHORT, Seam


def files_below(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def whole(events: list[Event]) -> Disk:
    disk = Disk()
    for event in events:
        disk.take(event)
    return disk


def image_with_everything(events: list[Event], directory: Path) -> dict[str, bytes]:
    """What a disk holds to which everything came."""
    disk = whole(events)
    image = next(
        each for seed in range(1000) if (each := disk.left(Random(seed))).how == "all names, all data"
    )
    lay_out(image, directory)
    return files_below(directory)


def by_descriptor(root: Path) -> None:
    descriptor = os.open(root / "a", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, 9000)
    os.pwrite(descriptor, b"x" * 5000, 3000)
    os.ftruncate(descriptor, 8500)
    os.write(descriptor, b"begin")
    os.close(descriptor)


def by_open(root: Path) -> None:
    (root / "f").mkdir()
    (root / "f" / "text").write_text("words")
    with (root / "f" / "more").open("ab") as file:
        file.write(b"1")
    with open(root / "f" / "more", "ab") as file:
        file.write(b"2")
    with os.fdopen(os.open(root / "own", os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(b"3" * 100_000)
    with open(root / "f" / "text", "r+b") as file:
        file.seek(2)
        file.write(b"RD")


def by_names(root: Path) -> None:
    by_open(root)
    os.link(root / "own", root / "two")
    (root / "two").replace(root / "three")
    (root / "f").rename(root / "g")
    (root / "g" / "more").unlink()
    (root / "g" / "again").write_bytes(b"4")
    shutil.copyfile(root / "g" / "again", root / "copy")
    (root / "empty").mkdir()
    (root / "empty").rmdir()


def by_map(root: Path) -> None:
    descriptor = os.open(root / "m", os.O_RDWR | os.O_CREAT)
    os.ftruncate(descriptor, 8192)
    mapped = mmap.mmap(descriptor, 4096)
    mapped[10:12] = b"ab"
    os.pwrite(descriptor, b"cd", 600)
    mapped[4090:4092] = b"ef"
    mapped.close()
    os.close(descriptor)


@pytest.mark.parametrize("work", [by_descriptor, by_open, by_names, by_map])
def test_all_that_is_done_to_files_is_recorded(work: Callable[[Path], None], place: Path) -> None:
    root, events = place / "root", list[Event]()
    root.mkdir()
    with Seam(root, events.append).in_force():
        work(root)
    assert image_with_everything(events, place / "image") == files_below(root)
    assert files_below(root)


def test_what_was_there_before_is_durable(place: Path) -> None:
    root, events = place / "root", list[Event]()
    root.mkdir()
    by_names(root)
    with Seam(root, events.append).in_force():
        pass
    disk = whole(events)
    assert disk.unsynced == 0
    lay_out(disk.left(Random(0)), place / "image")
    assert files_below(place / "image") == files_below(root)


def test_writes_through_maps_are_sectors_and_come_before_the_next_event(place: Path) -> None:
    events: list[Event] = []
    with Seam(place, events.append).in_force() as seam:
        descriptor = os.open(place / "m", os.O_RDWR | os.O_CREAT)
        os.ftruncate(descriptor, 4096)
        mapped = mmap.mmap(descriptor, 4096)
        mapped[510:514] = b"abcd"
        seam.note("promise")
        os.close(descriptor)
    at = events.index(Noted("promise"))
    assert [event.at for event in events[:at] if isinstance(event, Wrote)] == [0, 512]
    assert not any(isinstance(event, Wrote) for event in events[at:])
    del mapped


def test_files_elsewhere_are_nobodys_business(place: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    with Seam(place, events.append).in_force():
        before = len(events)
        (tmp_path / "elsewhere").write_text("words")
        (tmp_path / "elsewhere").unlink()
        assert len(events) == before


def test_calls_fail_as_they_are_told(place: Path) -> None:
    asked: list[tuple[str, str]] = []
    fail = {"pwrite": errno.EIO, "fsync": errno.ENOSPC}
    events: list[Event] = []

    def before(call: str, path: str) -> str | None:
        asked.append((call, path))
        if call in fail:
            raise OSError(fail[call], os.strerror(fail[call]))
        return SHORT if call == "write" else None

    with Seam(place, events.append, before).in_force():
        descriptor = os.open(place / "a", os.O_RDWR | os.O_CREAT)
        assert os.write(descriptor, b"12345678") == 4
        with pytest.raises(OSError, match="Input"):
            os.pwrite(descriptor, b"x", 0)
        with pytest.raises(OSError, match="space"):
            os.fsync(descriptor)
        os.fdatasync(descriptor)
        os.close(descriptor)
    assert asked == [(call, "/a") for call in ("open", "write", "pwrite", "fsync", "fdatasync")]
    assert [type(event) for event in events[-4:-1]] == [Wrote, SyncFailed, Synced]
    assert (place / "a").read_bytes() == b"1234"


def test_calls_are_themselves_again_afterwards(place: Path) -> None:
    before = os.open, open, mmap.mmap
    with Seam(place).in_force():
        assert os.open is not before[0]
    assert (os.open, open, mmap.mmap) == before

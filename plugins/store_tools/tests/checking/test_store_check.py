"""A check finds any byte that says something else, any file that is cut or gone; a rebuild mends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import small_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqframe_cli.stopped_store import known_store
from mqframe_index.settings import IndexSettings
from mqframe_store_tools.checking.rebuild import rebuild
from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes

from mqframe.core.errors import StoreError
from mqframe.net.clock import SystemClock
from mqframe.store.settings import StoreSettings

CASES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every record has a CRC over all of it."""
    root = tmp_path_factory.mktemp("sound") / "store"
    small_store.fill(root, property_crc=True)
    return root


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Where the store is copied to and damaged."""
    return tmp_path / "store"


def fresh(sound: Path, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)


def built_again(root: Path, *, accept_loss: bool = False) -> None:
    layout = known_store(root)
    sized = with_sizes(StoreSettings(disk_limits=False), layout)
    index = with_index_sizes(IndexSettings(), layout)
    rebuild(layout, sized, index, SystemClock(), accept_loss=accept_loss)


def files(root: Path) -> list[Path]:
    return sorted(
        path.relative_to(root) for path in root.rglob("*") if path.is_file() and path.name != "lock"
    )


def has_meaning(sound: Path, file: Path, at: int) -> bool:
    """Whether anybody ever reads this byte, and can tell that it is wrong."""
    folder, raw = file.parts[0], (sound / file).read_bytes()
    if file.name == "checkpoint":
        return at < 48  # numbers and their CRC; the rest of the page is unused
    if file.name == "consumerOffset.json":
        return False  # another table, as good as this one: `test_progress` has what is seen
    if folder == "commitlog":
        following = (sound / file).with_name(f"{int(file.name) + len(raw):020d}")
        last = len(raw.rstrip(b"\0"))
        if following.exists():
            mark = raw.rindex(b"\xcb\xd4\x31\x94")  # the unused end: what it says of its length nobody reads
            return at < mark - 4 or mark <= at < mark + 4
        return at < last
    if folder == "index":
        count = int.from_bytes(raw[36:40], "big")
        unused = 68 <= at < 88 or at >= 68 + 20 * count  # entry 0, and entries to come
        first = file == min(each for each in files(sound) if each.parts[0] == "index")
        return not unused and not (first and 100 <= at < 104)  # counted from a file before, if there was one
    return True


def test_a_sound_store_has_no_findings(sound: Path) -> None:
    found = small_store.checked(sound)
    assert (found.total, found.findings, found.notes) == (0, [], [])
    assert found.records == small_store.COUNT


@CASES
@given(data=st.data())
def test_any_flipped_bit_is_told_where_it_says_something(sound, copied, data) -> None:
    file = data.draw(st.sampled_from(files(sound)))
    raw = bytearray((sound / file).read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    fresh(sound, copied)
    (copied / file).write_bytes(raw)
    found = small_store.checked(copied)
    if has_meaning(sound, file, at):
        assert found.total
        # A queue entry, an index entry or a record is said to be wrong in the very file.
        assert str(file) in {each.file for each in found.findings}
    if file.parts[0] in ("consumequeue", "index"):
        before = small_store.messages(sound)
        built_again(copied)
        assert small_store.checked(copied).findings == []
        assert small_store.messages(copied) == before


@CASES
@given(data=st.data())
def test_a_cut_file_is_told(sound, copied, data) -> None:
    file = data.draw(st.sampled_from(files(sound)))
    size = (sound / file).stat().st_size
    left = data.draw(st.integers(0, size - 1))
    fresh(sound, copied)
    with (copied / file).open("r+b") as cut:
        cut.truncate(left)
    found = small_store.checked(copied)
    told = {each.file for each in found.findings}
    if file.name == "checkpoint" and left >= 48:
        return
    assert str(file) in told, (file, left)
    if file.parts[0] in ("consumequeue", "index"):
        built_again(copied)
        assert small_store.checked(copied).findings == []
        assert small_store.messages(copied) == small_store.messages(sound)


def test_a_file_that_is_gone_is_told(sound, copied) -> None:
    for file in files(sound):
        if file.name in ("queue-ends", "consumerOffset.json"):
            continue  # Apache's brokers leave no such note; a table that was never saved is none that is lost
        fresh(sound, copied)
        (copied / file).unlink()
        found = small_store.checked(copied)
        assert found.total, file
        if file.parts[0] in ("consumequeue", "index"):
            built_again(copied)
            assert small_store.checked(copied).findings == []
            assert small_store.messages(copied) == small_store.messages(sound)


def test_an_empty_log_file_is_told_unless_it_was_being_made(sound, copied) -> None:
    for base in (0, 8192, 16384, 24576):
        fresh(sound, copied)
        (copied / "commitlog" / f"{base:020d}").write_bytes(b"")
        assert (f"commitlog/{base:020d}", 0) in {
            (each.file, each.offset) for each in small_store.checked(copied).findings
        }
    (copied / "abort").touch()
    assert small_store.checked(copied).findings == []


def test_damage_in_the_log_has_its_place(sound, copied) -> None:
    fresh(sound, copied)
    place = small_store.messages(sound)[7][3]
    path = copied / "commitlog" / f"{place - place % 8192:020d}"
    raw = bytearray(path.read_bytes())
    raw[place % 8192 + 100] ^= 1
    path.write_bytes(raw)
    first, *others = small_store.checked(copied).findings
    assert (first.file, first.offset) == (f"commitlog/{path.name}", place % 8192)
    assert first.found.endswith("bytes that are no sound record (damaged)")
    assert any(each.file.startswith("consumequeue/t/0") for each in others)


def test_a_record_that_names_another_offset_is_told(tmp_path: Path) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    place = small_store.messages(root)[5][3]
    path = root / "commitlog" / f"{0:020d}"
    raw = bytearray(path.read_bytes())
    raw[place + 27] ^= 0x40
    path.write_bytes(raw)
    told = {each.file: each for each in small_store.checked(root).findings}
    assert told[f"commitlog/{0:020d}"].offset == place
    assert "offset 5" in told[f"commitlog/{0:020d}"].expected


def test_a_killed_store_may_be_behind_its_log(tmp_path: Path) -> None:
    root = tmp_path / "store"
    small_store.fill(root, stop=False)
    (root / "consumequeue/t/1" / f"{400:020d}").unlink()
    found = small_store.checked(root)
    assert found.findings == []
    assert "queue 1 of t ends at 20, 10 before the log; the next start enters them" in found.notes


def test_a_log_with_a_hole_is_told_and_not_built_from(sound, copied) -> None:
    fresh(sound, copied)
    (copied / "commitlog" / f"{8192:020d}").unlink()
    told = small_store.checked(copied).findings
    assert any("no file for offsets 8192 to 16384" in each.found for each in told)
    before = {path: (copied / path).read_bytes() for path in files(copied)}
    with pytest.raises(StoreError, match="no file for offset 8192"):
        built_again(copied)
    assert {path: (copied / path).read_bytes() for path in files(copied)} == before


def test_queues_ahead_of_the_log_are_told_and_not_cut(sound, copied) -> None:
    fresh(sound, copied)
    (copied / "commitlog" / f"{16384:020d}").unlink()
    found = small_store.checked(copied)
    assert any("the log has no such record" in each.expected for each in found.findings)
    before = {path: (copied / path).read_bytes() for path in files(copied)}
    with pytest.raises(StoreError, match="had been on the disk up to"):
        built_again(copied)
    assert {path: (copied / path).read_bytes() for path in files(copied)} == before
    built_again(copied, accept_loss=True)
    assert len(small_store.messages(copied)) < small_store.COUNT


def test_apaches_stores_are_sound(recorded) -> None:
    root, manifest = recorded
    found = small_store.checked(root)
    assert found.findings == []
    assert found.records >= len(manifest["stored"])


def test_apaches_queues_and_index_are_built_again(recorded) -> None:
    root, _ = recorded
    before = small_store.messages(root)
    built_again(root)
    assert small_store.messages(root) == before
    found = small_store.checked(root)
    assert found.findings == []


def test_nothing_is_written_and_nothing_locked(sound, copied) -> None:
    fresh(sound, copied)
    before = {path: (copied / path).stat() for path in files(copied)}
    small_store.checked(copied)
    after = {path: (copied / path).stat() for path in files(copied)}
    assert {p: (s.st_mtime_ns, s.st_size) for p, s in after.items()} == {
        p: (s.st_mtime_ns, s.st_size) for p, s in before.items()
    }

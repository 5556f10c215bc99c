"""What there was is set aside; what was given away is not given away again; a failure changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import small_store
from mqframe_cli.stopped_store import known_store
from mqframe_index.settings import IndexSettings
from mqframe_store_tools.checking.rebuild import Rebuilt, rebuild
from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import StoreError
from mqframe.net.clock import SystemClock
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings


def built(root, *, accept_loss: bool = False) -> Rebuilt:
    layout = known_store(root)
    sized = with_sizes(StoreSettings(disk_limits=False), layout)
    index = with_index_sizes(IndexSettings(), layout)
    return rebuild(layout, sized, index, SystemClock(), accept_loss=accept_loss)


def test_the_former_files_are_kept_as_they_were(tmp_path) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    former = {
        path.relative_to(root): path.read_bytes()
        for name in ("consumequeue", "index")
        for path in (root / name).rglob("*")
        if path.is_file()
    }
    done = built(root)
    assert (done.records, done.queues, done.damaged) == (60, 2, ())
    assert {path: (done.kept / path).read_bytes() for path in former} == former
    again = built(root)
    assert again.kept != done.kept


def files(folder, *names: str) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes()
        for name in names
        for path in (folder / name).rglob("*")
        if path.is_file()
    }


KILLED = """
import os, sys
from pathlib import Path
from mqframe_index.settings import IndexSettings
from mqframe_store_tools.checking import rebuild as room
from mqframe.net.clock import SystemClock
from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes
from mqframe_cli.stopped_store import known_store
from mqframe.store.settings import StoreSettings

where, root = sys.argv[1:]
real = {"open": room.MessageStore.open, "rename": Path.rename, "run": room.asyncio.run}
def die(*given, **more):
    os._exit(9)
def one_then_die(path, target):
    real["rename"](path, target)
    die()
def open_then_die(*given, **more):
    real["open"](*given, **more)
    die()
if where == "before": room.make_folder = lambda path: (path.mkdir(), die())
if where == "moving": Path.rename = one_then_die
if where == "building": room.MessageStore.open = open_then_die
if where == "built": room.asyncio.run = lambda work: (real["run"](work), die())
layout = known_store(Path(root))
sized = with_sizes(StoreSettings(disk_limits=False), layout)
index = with_index_sizes(IndexSettings(), layout)
room.rebuild(layout, sized, index, SystemClock(), accept_loss=False)
"""


@pytest.mark.parametrize("where", ["before", "moving", "building"])
def test_what_a_killed_rebuild_set_aside_is_taken_over(tmp_path, where) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    light = root / "consumequeue" / "%LMQ%a" / "0" / f"{0:020d}"
    light.parent.mkdir(parents=True)
    light.write_bytes((root / "consumequeue/t/0" / light.name).read_bytes())
    expected = small_store.messages(root)
    former = files(root, "consumequeue/t", "index")
    assert subprocess.run([sys.executable, "-c", KILLED, where, str(root)], check=False).returncode == 9
    (left,) = root.glob("set-aside*")
    assert left.name.endswith(".unfinished")
    (note,) = [each for each in small_store.checked(root).notes if "set-aside" in each]
    assert left.name in note
    assert "did not end" in note
    done = built(root)
    assert list(root.glob("set-aside*")) == [done.kept]
    assert done.kept.name == left.name.removesuffix(".unfinished")
    assert files(done.kept, "consumequeue/t", "index") == former
    assert light.exists()
    assert small_store.messages(root) == expected
    found = small_store.checked(root)
    assert found.total == 0
    assert [each for each in found.notes if done.kept.name in each and "delete it" in each]


def test_queues_that_were_made_since_a_killed_rebuild_are_not_deleted(tmp_path) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    former = files(root, "consumequeue", "index")
    assert subprocess.run([sys.executable, "-c", KILLED, "built", str(root)], check=False).returncode == 9
    since = files(root, "consumequeue", "index")
    done = built(root)
    first, second = sorted(root.glob("set-aside*"))
    assert second == done.kept
    assert files(first, "consumequeue", "index") == former
    assert files(second, "consumequeue", "index") == since


def test_a_rebuild_that_fails_after_a_killed_one_puts_back_what_there_was(tmp_path, monkeypatch) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    former = files(root, "consumequeue", "index")
    assert subprocess.run([sys.executable, "-c", KILLED, "building", str(root)], check=False).returncode == 9

    def fail(*given, **more):
        raise StoreError("no")

    monkeypatch.setattr(MessageStore, "open", fail)
    with pytest.raises(StoreError, match="no"):
        built(root)
    assert files(root, "consumequeue", "index") == former
    assert not list(root.glob("set-aside*"))


def test_offsets_that_the_log_knows_no_more_are_not_given_again(tmp_path) -> None:
    root = tmp_path / "store"
    made = small_store.fill(root)
    for base in (0, 8192):
        (root / "commitlog" / f"{base:020d}").unlink()
    (root / "queue-ends").unlink()
    built(root)
    store = MessageStore.open(made, ManualClock(), open_index=small_store.OPEN_INDEX)
    assert [store.queues.max_offset("t", queue_id) for queue_id in (0, 1)] == [30, 30]
    assert store.queues.min_offset("t", 0) > 15
    store.abandon()


def test_queues_of_light_topics_stay(tmp_path) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    light = root / "consumequeue" / "%LMQ%a" / "0" / f"{0:020d}"
    light.parent.mkdir(parents=True)
    light.write_bytes((root / "consumequeue/t/0" / light.name).read_bytes())
    before = light.read_bytes()
    built(root)
    assert light.read_bytes() == before


def test_a_short_file_of_the_log_is_refused(tmp_path) -> None:
    root = tmp_path / "store"
    small_store.fill(root)
    path = root / "commitlog" / f"{16384:020d}"
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(StoreError, match="has 6000 bytes, the others 8192"):
        built(root)
    assert not list(root.glob("set-aside*"))


def test_a_store_in_use_is_refused(tmp_path) -> None:
    root = tmp_path / "store"
    store = MessageStore.open(small_store.fill(root), ManualClock())
    with pytest.raises(StoreError, match="in use"):
        built(root)
    assert not list(root.glob("set-aside*"))
    store.abandon()

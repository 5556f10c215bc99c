"""What there was is set aside; what was given away is not given away again; a failure changes nothing."""

from __future__ import annotations

import pytest
import small_store

from mqframe.core.errors import StoreError
from mqframe.net.clock import SystemClock
from mqframe.store.checking.directory import known_store, with_sizes
from mqframe.store.checking.rebuild import Rebuilt, rebuild
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings
from mqframe.testing.manual_clock import ManualClock


def built(root, *, accept_loss: bool = False) -> Rebuilt:
    layout = known_store(root)
    sized = with_sizes(StoreSettings(disk_limits=False), layout)
    return rebuild(layout, sized, SystemClock(), accept_loss=accept_loss)


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


def test_offsets_that_the_log_knows_no_more_are_not_given_again(tmp_path) -> None:
    root = tmp_path / "store"
    made = small_store.fill(root)
    for base in (0, 8192):
        (root / "commitlog" / f"{base:020d}").unlink()
    (root / "queue-ends").unlink()
    built(root)
    store = MessageStore.open(made, ManualClock())
    assert [store.queue_max("t", queue_id) for queue_id in (0, 1)] == [30, 30]
    assert store.queue_min("t", 0) > 15
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

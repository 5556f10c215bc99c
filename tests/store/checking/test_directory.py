"""A directory is told apart by what lies in it; sizes are what its files say; who uses it is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_store
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import SettingError
from mqframe.store.checking.directory import known_store, refuse_in_use, with_sizes
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("nothing", "there is no folder commitlog"),
        ("dledger-n0/data/0", "kept by DLedger"),
    ],
)
def test_what_is_no_store(tmp_path: Path, file: str, told: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with pytest.raises(SettingError, match=told):
        known_store(tmp_path)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("consumequeue/CURRENT", "RocksDB"),
        ("consumequeue_r/MANIFEST-000004", "RocksDB"),
        ("batchconsumequeue/t/0/00000000000000000000", "batch queues"),
    ],
)
def test_queues_of_another_kind_are_refused_by_name(tmp_path: Path, file: str, told: str) -> None:
    (tmp_path / "commitlog").mkdir()
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.touch()
    with pytest.raises(SettingError, match=told) as refused:
        known_store(tmp_path)
    assert file.split("/")[0] in str(refused.value)


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    small_store.fill(tmp_path / "store")
    sized = with_sizes(StoreSettings(), known_store(tmp_path / "store"))
    found = {name: getattr(sized, name) for name in small_store.SIZES if name != "disk_limits"}
    assert found == {name: small_store.SIZES[name] for name in found}
    assert sized.directory == tmp_path / "store"


def test_sizes_of_an_empty_store_are_the_settings(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    sized = with_sizes(small_store.settings(tmp_path), known_store(tmp_path))
    assert (sized.commit_log_file_bytes, sized.queue_file_bytes, sized.index_slots) == (8192, 400, 7)


def test_a_store_in_use_is_refused_and_goes_on(tmp_path: Path) -> None:
    store = MessageStore.open(small_store.settings(tmp_path), ManualClock())
    with pytest.raises(SettingError, match="a broker uses"):
        refuse_in_use(known_store(tmp_path))
    store.abandon()
    refuse_in_use(known_store(tmp_path))
    (tmp_path / "lock").unlink()
    refuse_in_use(known_store(tmp_path))

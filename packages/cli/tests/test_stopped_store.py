"""A directory is told apart by what lies in it; who uses it is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_store
from mqframe_cli.stopped_store import known_store, refuse_in_use
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import SettingError
from mqframe.store.message_store import MessageStore


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


def test_a_store_in_use_is_refused_and_goes_on(tmp_path: Path) -> None:
    store = MessageStore.open(small_store.settings(tmp_path), ManualClock())
    with pytest.raises(SettingError, match="a broker uses"):
        refuse_in_use(known_store(tmp_path))
    store.abandon()
    refuse_in_use(known_store(tmp_path))
    (tmp_path / "lock").unlink()
    refuse_in_use(known_store(tmp_path))

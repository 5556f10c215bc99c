"""Who may write, who may exchange, and how a folder takes another's place."""

import ctypes
import errno
import fcntl

import pytest
from mqframe_spark.lake import day_folders
from mqframe_spark.lake.day_folders import exchange, exchanging, tidying, writing
from mqframe_spark.lake.upkeep import UpkeepBusy

from mqframe.core.errors import GiveUpError


def taken(path, how) -> bool:
    with path.open("wb") as file:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_writers_share_and_who_exchanges_is_alone(tmp_path) -> None:
    lock = tmp_path / ".writers.lock"
    with writing(tmp_path), writing(tmp_path):
        assert not taken(lock, fcntl.LOCK_SH)
        assert taken(lock, fcntl.LOCK_EX)
    with exchanging(tmp_path):
        assert taken(lock, fcntl.LOCK_SH)
    assert not taken(lock, fcntl.LOCK_EX)


def test_one_tidies_at_a_time(tmp_path) -> None:
    with (
        tidying(tmp_path),
        pytest.raises(UpkeepBusy, match="another process puts files in"),
        tidying(tmp_path),
    ):
        raise AssertionError
    with tidying(tmp_path):
        pass


def test_folders_exchange_their_names(tmp_path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"of-{name}").touch()
    exchange(tmp_path / "one", tmp_path / "two")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["of-two"]
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["of-one"]
    with pytest.raises(FileNotFoundError, match="one"):
        exchange(tmp_path / "one", tmp_path / "none")


def test_a_system_that_cannot_says_so(tmp_path, monkeypatch) -> None:
    class Lacking:
        def renameat2(self, *arguments) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

    for lacking in (object(), Lacking()):
        monkeypatch.setattr(day_folders.ctypes, "CDLL", lambda *a, lacking=lacking, **k: lacking)
        with pytest.raises(GiveUpError, match="cannot exchange folders there"):
            exchange(tmp_path / "one", tmp_path / "two")

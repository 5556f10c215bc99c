"""Versions of the commit record on the disk, and who may write the next one."""

import json
from pathlib import Path

import pytest
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.commit_folder import ArrowFolder, Folder, LocalFolder
from mqframe_spark.exact.commit_record import CommitRecord
from mqframe_spark.exact.rules import OpenBatch, Superseded
from mqframe_transactions.rules.half_batch import PreparedHalf
from pyarrow import fs

from mqframe.core.errors import GiveUpError

HALF = PreparedHalf("a", "orders", 3, 17, 4711, "C0A8", 900, repeatable=True)


@pytest.fixture(params=["local", "arrow", "object store"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    if request.param == "object store":
        found: Folder = request.getfixturevalue("object_folder").below("stream")
        return found
    place = tmp_path / "a" / "mqframe"
    return LocalFolder(place) if request.param == "local" else ArrowFolder(fs.LocalFileSystem(), f"{place}/")


def test_the_newest_version_is_read_as_it_was_written(folder: Folder) -> None:
    record = CommitRecord(folder)
    assert record.read() is None
    first = rules.first("r")
    record.publish(first)
    second = rules.commit(
        first,
        1,
        OpenBatch(0, {"x": (), "y": (3,)}, (HALF,), single=2, at_ms=5),
        spark_query="q",
        topics=("orders",),
    )
    record.publish(second)
    assert CommitRecord(folder).read() == second


def test_a_version_is_written_once(folder: Folder) -> None:
    one, other = CommitRecord(folder), CommitRecord(folder)
    first = rules.first("r")
    one.publish(first)
    based = other.read()
    assert based is not None
    one.publish(rules.begin(first))
    with pytest.raises(Superseded, match="version 2 of the commit record was written by another driver"):
        other.publish(rules.begin(based))
    assert one.read() == rules.begin(first)


def test_a_version_says_who_has_written_it(folder: Folder, tmp_path: Path) -> None:
    """So that what another driver wrote is not taken for one's own, though it says the same."""
    CommitRecord(folder).publish(rules.first("r"))
    other = LocalFolder(tmp_path / "other")
    CommitRecord(other).publish(rules.first("r"))
    [name] = folder.names()
    assert CommitRecord(folder).read() == CommitRecord(other).read()
    assert folder.read(name) != other.read(name)


def test_a_version_that_is_long_gone_cannot_be_written_either(folder: Folder) -> None:
    record = CommitRecord(folder)
    state = asleep = rules.first("r")
    record.publish(state)
    for _ in range(6):
        state = rules.begin(state)
        record.publish(state)
    assert sorted(folder.names()) == [f"{version:020d}.json" for version in (5, 6, 7)]
    with pytest.raises(Superseded):
        record.publish(rules.begin(asleep))
    assert sorted(folder.names()) == [f"{version:020d}.json" for version in (5, 6, 7)]


def test_what_a_crash_left_over_is_cleared_away(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    (tmp_path / ".00000000000000000001.json.0a1b2c3d.tmp").write_bytes(b"{")
    (tmp_path / ".00000000000000000009.json.0a1b2c3d.tmp").write_bytes(b"{")
    record = CommitRecord(folder)
    assert record.read() is None
    record.publish(rules.begin(rules.first("r")))
    assert sorted(folder.names()) == [
        ".00000000000000000009.json.0a1b2c3d.tmp",
        "00000000000000000002.json",
    ]


def test_a_damaged_version_is_not_passed_over(folder: Folder) -> None:
    record = CommitRecord(folder)
    record.publish(rules.first("r"))
    assert folder.create("00000000000000000002.json", b'{"id": "r", "version": ')
    with pytest.raises(GiveUpError, match=r"00000000000000000002\.json is damaged"):
        record.read()
    assert folder.create("00000000000000000003.json", json.dumps({"id": "r", "version": 2}).encode())
    with pytest.raises(GiveUpError, match="it holds version 2"):
        record.read()

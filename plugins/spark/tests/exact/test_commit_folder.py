"""Folders of commit records: names are given once, and places mean the same everywhere."""

from pathlib import Path

import pytest
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.commit_folder import ArrowFolder, Folder, LocalFolder, absolute, open_folder
from mqframe_spark.exact.commit_record import CommitRecord
from pyarrow import fs

from mqframe.core.errors import SettingError


@pytest.fixture(params=["local", "arrow"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    place = tmp_path / "a" / "mqframe"
    return LocalFolder(place) if request.param == "local" else ArrowFolder(fs.LocalFileSystem(), f"{place}/")


def test_a_name_is_given_once(folder: Folder) -> None:
    assert folder.names() == []
    assert folder.create("1", b"first")
    assert not folder.create("1", b"second")
    assert (folder.names(), folder.read("1")) == (["1"], b"first")
    with pytest.raises(FileNotFoundError):
        folder.read("2")


def test_folders_lie_in_folders(folder: Folder) -> None:
    assert folder.below("batch-1").create("0", b"x")
    assert folder.names() == ["batch-1"]
    assert folder.below("batch-1").read("0") == b"x"


def test_a_folder_can_be_emptied_and_removed(folder: Folder) -> None:
    below = folder.below("batch-1")
    CommitRecord(below).publish(rules.first("r"))
    assert folder.names() == ["batch-1"]
    CommitRecord(below).erase()
    folder.remove("batch-1")
    folder.remove("batch-1")
    assert folder.names() == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("FILE:///a/b", "/a/b"),
        ("s3a://bucket/a", "s3://bucket/a"),
    ],
)
def test_places(text: str, place: str) -> None:
    assert absolute("commitPath", text) == place


def test_a_relative_place_is_that_of_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("commitPath", "record") == str(tmp_path / "record")


def test_places_that_cannot_be_opened_are_named() -> None:
    with pytest.raises(SettingError, match="commitPath = 'file://host/a'"):
        absolute("commitPath", "file://host/a")
    with pytest.raises(SettingError, match="commitPath = 'ftp://a/b'"):
        open_folder("commitPath", "ftp://a/b")


def test_what_pyarrow_opens_can_hold_a_record() -> None:
    folder = open_folder("commitPath", "mock://record")
    assert folder.names() == []

"""The files of accounts together: which counts, when they are read again, and how they are changed."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from file_calls import fails, instead
from mqframe_acl import plain_files
from mqframe_acl.plain_file import Plain, Table, plain_of, table_of
from mqframe_acl.plain_files import PlainFiles
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import SettingError


def accounts(*keys: str, admin: bool = False) -> str:
    lines = [f"- {{accessKey: {key}, secretKey: of-{key}, admin: {str(admin).lower()}}}" for key in keys]
    return "\n".join(["accounts:", *lines])


class Place:
    """A main file with the account `operator`, and a folder beside it."""

    def __init__(self, root: Path, **more: str) -> None:
        self.main, self.folder, self.clock = root / "plain_acl.yml", root / "acl", ManualClock()
        self.write("plain_acl.yml", accounts("operator"))
        for name, text in more.items():
            self.write(f"acl/{name}.yml", text)
        self.files = PlainFiles(self.main, self.folder, self.clock, 5.0)

    def write(self, name: str, text: str) -> None:
        path = self.main.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".new").write_text(text)
        os.replace(path.with_suffix(".new"), path)

    def keys(self) -> set[str]:
        """The accounts that count after the next look."""
        self.clock.advance(5.1)
        return set(self.files.current.accounts)


def test_a_replaced_file_counts_when_its_time_has_come(tmp_path: Path) -> None:
    place = Place(tmp_path)
    first = place.files.current
    place.write("plain_acl.yml", accounts("operator", "another"))
    place.clock.advance(4.9)
    assert place.files.current is first
    assert place.keys() == {"operator", "another"}


def test_files_of_the_folder_come_and_go(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("acl/deep/er/shops.yaml", accounts("shop-one", "shop-two"))
    place.write("acl/notes.txt", "no accounts")
    place.write("acl/..data/shops.yml", accounts("hidden-one"))
    assert place.keys() == {"operator", "shop-one", "shop-two"}
    (tmp_path / "acl/deep/er/shops.yaml").unlink()
    assert place.keys() == {"operator"}


def test_the_folder_goes_before_the_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path, b=accounts("operator", admin=True), c=accounts("operator"))
    assert place.files.current.accounts["operator"].admin
    assert place.files.current.places["operator"] == tmp_path / "acl/b.yml"
    told = [each.getMessage() for each in caplog.records if "stands in two files" in each.getMessage()]
    assert len(told) == 2


def test_one_that_is_the_main_file_counts_once(tmp_path: Path) -> None:
    Place(tmp_path, all=accounts("operator"))
    main = tmp_path / "acl/all.yml"
    assert list(PlainFiles(main, main.parent, ManualClock(), 5.0).current.files) == [main]


def test_a_wrong_missing_or_emptied_file_leaves_the_former_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path, shops=accounts("shop-one"))
    both = {"operator", "shop-one"}
    place.main.unlink()
    assert [place.keys() for _ in range(3)] == [both] * 3
    place.write("plain_acl.yml", accounts("operator"))
    for text in ("accounts: [", "", "accounts: [7]"):
        place.write("acl/shops.yml", text)
        assert [place.keys() for _ in range(3)] == [both] * 3
    assert len([each for each in caplog.records if "stay in force" in each.getMessage()]) == 4
    caplog.clear()
    place.write("acl/shops.yml", "accounts: []")
    assert place.keys() == {"operator"}
    told = [(each.levelname, each.getMessage().partition(" file=")[0]) for each in caplog.records]
    assert told == [("ERROR", "accounts read again")], "as loud as that they could not be read"


def test_an_empty_main_file_beside_a_folder(tmp_path: Path) -> None:
    (tmp_path / "plain_acl.yml").touch()
    place = Place(tmp_path)
    place.write("plain_acl.yml", "")
    files = PlainFiles(place.main, place.folder, place.clock, 5.0)
    assert files.current.accounts == {}
    place.write("acl/shops.yml", accounts("shop-one"))
    place.clock.advance(6)
    assert set(files.current.accounts) == {"shop-one"}


def test_a_server_does_not_start_without_it(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read: No such file"):
        PlainFiles(tmp_path / "none.yml", tmp_path / "acl", ManualClock(), 5.0)
    (tmp_path / "huge.yml").write_bytes(b"#" * (5 << 20))
    with pytest.raises(SettingError, match="has more than"):
        PlainFiles(tmp_path / "huge.yml", tmp_path / "acl", ManualClock(), 5.0)


def put(key: str) -> Any:
    return lambda table: table["accounts"].append({"accessKey": key, "secretKey": f"of-{key}"})


async def test_a_change_counts_at_once_and_says_how_many_there_were(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.main.chmod(0o640)
    for number, key in enumerate(("shop-one", "shop-two"), 1):
        place.clock.advance(1)
        await place.files.change(place.main, put(key))
        found = place.files.current.files[place.main]
        assert (found.changes, found.changed_ms) == (number, place.clock.now_ms())
        assert key in place.files.current.accounts
    assert place.main.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["plain_acl.yml"]
    assert place.keys() == {"operator", "shop-one", "shop-two"}
    assert [each["accessKey"] for each in table_of(place.main.read_text())["accounts"]] == [
        "operator", "shop-one", "shop-two",
    ]  # fmt: skip


async def test_a_link_stays_one(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.main.rename(tmp_path / "real.yml")
    place.main.symlink_to("real.yml")
    await place.files.change(place.main, put("shop-one"))
    assert place.main.is_symlink()
    assert "shop-one" in (tmp_path / "real.yml").read_text()


async def test_what_cannot_be_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    before = place.main.read_bytes()
    with pytest.raises(SettingError, match="account 2: accessKey and secretKey have 7"):
        await place.files.change(place.main, lambda table: table["accounts"].append({"accessKey": "x"}))

    instead(monkeypatch, tmp_path, "fsync", fails(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        await place.files.change(place.main, put("shop-one"))
    assert place.main.read_bytes() == before
    assert os.listdir(tmp_path) == ["plain_acl.yml"]
    assert place.keys() == {"operator"}


MANY = tuple(f"account-{number:05}" for number in range(1000))


async def test_many_accounts_are_read_beside_the_loop_and_the_former_count_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    first, go_on = place.files.current, threading.Event()

    def held(table: Table) -> Plain:
        assert go_on.wait(60)
        return plain_of(table)

    monkeypatch.setattr(plain_files, "plain_of", held)
    place.write("plain_acl.yml", accounts("operator", *MANY))
    place.clock.advance(5.1)
    assert place.files.current is first
    place.clock.advance(5.1)
    assert place.files.current is first, "nobody waits for what is being read"
    go_on.set()
    await place.files.settled()
    assert place.keys() == {"operator", *MANY}


async def test_what_is_wrong_among_many_leaves_the_former_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path)
    place.write("plain_acl.yml", accounts("operator", *MANY, MANY[0]))
    place.clock.advance(5.1)
    assert set(place.files.current.accounts) == {"operator"}
    await place.files.settled()
    assert place.keys() == {"operator"}
    (told,) = [each.getMessage() for each in caplog.records if "stay in force" in each.getMessage()]
    assert f"accessKey {MANY[0]} stands there twice" in told


async def test_many_accounts_count_from_the_start_and_a_change_of_them_beside_the_loop(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, many=accounts(*MANY))
    before, go_on, begun = place.files.current, threading.Event(), asyncio.Event()
    assert set(before.accounts) == {"operator", *MANY}
    loop = asyncio.get_running_loop()

    def edit(table: Table) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(60)
        put("shop-one")(table)

    changing = asyncio.ensure_future(place.files.change(place.main, edit))
    await begun.wait()
    place.clock.advance(5.1)
    assert place.files.current is before
    go_on.set()
    await changing
    assert set(place.files.current.accounts) == {"operator", "shop-one", *MANY}

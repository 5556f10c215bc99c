"""Folders in an object store: names are given once, and places are written in one way."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.exact import object_folder as objects
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.commit_folder import Folder, absolute, open_folder
from mqframe_spark.exact.commit_record import CommitRecord
from mqframe_spark.exact.object_folder import PROBE
from mqframe_spark.exact.rules import Superseded

from mqframe.core.errors import SettingError

RACER = Path(__file__).parent / "racing_driver.py"


def test_what_is_written_is_what_another_client_reads(s3: Any, object_folder: Folder) -> None:
    assert object_folder.names() == []
    assert object_folder.create("1", b"first")
    assert not object_folder.create("1", b"second")
    assert object_folder.below("deeper").create("2", b"x")
    assert sorted(object_folder.names()) == ["1", "deeper"]
    assert (object_folder.read("1"), object_folder.below("deeper").names()) == (b"first", ["2"])
    found = s3.objects()
    assert found.pop(f"records/{PROBE}")
    assert found == {"records/1": b"first", "records/deeper/2": b"x"}
    with pytest.raises(FileNotFoundError):
        object_folder.read("2")
    for _ in range(2):
        object_folder.remove("1")
        object_folder.below("deeper").remove("2")
        object_folder.remove("deeper")
    assert object_folder.names() == []


@pytest.mark.parametrize("path", ["", "a b", "a%20b", "day=2026-11-24", "ä/+(1)"])
def test_names_of_folders_are_as_they_are_written(s3: Any, path: str) -> None:
    s3.bucket.put_object(Key=f"{path}/0".lstrip("/"), Body=b"theirs")
    object_folder = s3.opened(f"s3a://{s3.bucket.name}/{path}")
    assert object_folder.names() == ["0"]
    assert not object_folder.create("0", b"ours")
    assert object_folder.create("1", b"ours")
    assert s3.objects()[f"{path}/1".lstrip("/")] == b"ours"


def test_more_names_than_one_answer_holds(
    s3: Any, object_folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "3")
    for number in range(10):
        s3.bucket.put_object(Key=f"records/{number}", Body=b"")
    s3.requests.clear()
    assert sorted(object_folder.names()) == list("0123456789")
    assert len(s3.requests) == 4


class Racers:
    """Processes that write versions of one record."""

    def __init__(self, s3: Any, names: str) -> None:
        command = [sys.executable, str(RACER)]
        tail = [s3.place, json.dumps(s3.options)]
        self.processes = {
            name: subprocess.Popen(
                [*command, name, *tail], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
            for name in names
        }

    def race(self, word: str) -> list[str]:
        """One version; gives who has written it."""
        self._say(word)
        assert self._hear() == dict.fromkeys(self.processes, "ready")
        self._say("go")
        heard = self._hear()
        assert set(heard.values()) <= {"won", "lost"}
        return [name for name, said in heard.items() if said == "won"]

    def end(self) -> None:
        for process in self.processes.values():
            process.communicate(timeout=60)

    def _say(self, word: str) -> None:
        for process in self.processes.values():
            assert process.stdin is not None
            process.stdin.write(word + "\n")

    def _hear(self) -> dict[str, str]:
        return {name: process.stdout.readline().strip() for name, process in self.processes.items()}  # type: ignore[union-attr]


@pytest.fixture
def racers(s3: Any) -> Iterator[Racers]:
    found = Racers(s3, "ab")
    yield found
    found.end()


# 70: each fault with each other one, and with each kind of record.
@pytest.mark.parametrize("versions", [70, pytest.param(350, marks=pytest.mark.long)])
def test_of_two_processes_one_writes_each_version(
    s3: Any, object_folder: Folder, racers: Racers, versions: int
) -> None:
    record, wins = CommitRecord(object_folder.below("stream")), Counter[str]()
    for version in range(1, versions + 1):
        alike = version % 2 == 0
        # Now and then an answer gets lost on the way, or Amazon's 409 comes.
        if version % 5 == 0:
            s3.next("PUT", rf"/{version:020d}", "unanswered", (409, "ConditionalRequestConflict"))
        if version % 7 == 0:
            s3.next("PUT", rf"/{version:020d}", "lost", "served")
        won = racers.race("alike" if alike else "named")
        assert len(won) == 1
        wins.update(won)
        found = record.read()
        assert found is not None
        assert (found.version, found.spark_query) == (version, "" if alike else won[0])
    assert set(wins) == {"a", "b"}


def test_a_driver_that_is_killed_before_it_hears_that_it_came_first(s3: Any, object_folder: Folder) -> None:
    one = Racers(s3, "a")
    s3.after("PUT", f"/{1:020d}", one.processes["a"].kill)
    with pytest.raises(AssertionError):
        one.race("named")
    one.end()
    record = CommitRecord(object_folder.below("stream"))
    found = record.read()
    assert found is not None
    assert (found.version, found.spark_query, found.running) == (1, "a", True)
    next_one = Racers(s3, "b")
    assert next_one.race("named") == ["b"]
    next_one.end()
    found = record.read()
    assert found is not None
    assert (found.version, found.run, found.spark_query) == (2, 2, "b")


def test_a_driver_that_is_overtaken_while_its_put_times_out(
    s3: Any, object_folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        objects, "_TIMEOUT", timedelta(seconds=3)
    )  # the overtaking takes less on a busy machine
    object_folder = s3.opened()
    first = rules.first("r")
    CommitRecord(object_folder).publish(first)
    name = f"{2:020d}"

    def overtake() -> None:
        """Many versions later the one that was put is not there any more."""
        found = s3.objects()[f"records/{name}.json"].replace(b'"version":2', b'"version":9')
        s3.bucket.put_object(Key=f"records/{9:020d}.json", Body=found)
        s3.bucket.Object(f"records/{name}.json").delete()
        raise ConnectionError  # no answer, on a connection that stays

    s3.after("PUT", name, overtake)
    with pytest.raises(Superseded, match="version 2 of the commit record was written by another driver"):
        CommitRecord(object_folder).publish(rules.begin(first))
    assert sorted(object_folder.names()) == [f"{number:020d}.json" for number in (1, 9)]


def test_a_missing_library_is_named(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mqframe_spark.exact.bucket", raising=False)
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    with pytest.raises(
        SettingError, match=r"commitPath = 's3://b/c': .*pip install 'mqframe-plugin-spark\[objectstore\]'"
    ):
        open_folder("commitPath", "s3://b/c")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("s3a://bucket/a//b/", "s3://bucket/a/b"),
        ("S3N://bucket", "s3://bucket"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("abfss://c@account.dfs.core.windows.net/a/", "abfss://c@account.dfs.core.windows.net/a"),
    ],
)
def test_a_place_is_written_in_one_way(text: str, place: str) -> None:
    assert absolute("commitPath", text) == place


@pytest.mark.parametrize(
    "text",
    [
        "s3:bucket/a",
        "s3:///a",
        "s3://key:hush@bucket/a",
        "s3://hush@bucket/a",
        "s3://b/a?token=hush",
        "abfss://c/hush",
    ],
)
def test_urls_that_are_none_or_hold_secrets_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"option commitPath: a URL of \w+: must be \w+://") as told:
        absolute("commitPath", text)
    assert "hush" not in str(told.value)


def test_a_folder_that_goes_up_is_refused() -> None:
    with pytest.raises(SettingError, match=r"commitPath = 's3://b/a/\.\./c': object stores know no folder"):
        absolute("commitPath", "s3://b/a/../c")


def test_keys_and_address_of_the_environment(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {
        "AWS_ACCESS_KEY_ID": "ENVIRONMENT",
        "AWS_SECRET_ACCESS_KEY": "e",
        "AWS_SESSION_TOKEN": "of the environment",
        "AWS_REGION": "eu-north-1",
        "AWS_ENDPOINT_URL": s3.address,
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert open_folder("commitPath", s3.place).create("1", b"x")
    signature, token = s3.signed[-1]
    assert "Credential=ENVIRONMENT/" in signature
    assert "/eu-north-1/s3/" in signature
    assert token == "of the environment"


def test_keys_of_the_options_leave_none_of_the_environment(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "of the environment")
    assert s3.opened(**{"fs.s3a.endpoint.region": "eu-west-1"}).create("1", b"x")
    signature, token = s3.signed[-1]
    assert f"Credential={s3.options['fs.s3a.access.key']}/" in signature
    assert "/eu-west-1/s3/" in signature
    assert token is None
    assert s3.opened(**{"fs.s3a.session.token": "of the options"}).names() == ["1"]
    assert s3.signed[-1][1] == "of the options"

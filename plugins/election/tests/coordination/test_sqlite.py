"""Coordination by a file: the contract, on a clock that a test moves, and files that fail."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mqframe_election.coordination.sqlite import SqliteCoordination
from mqframe_testing import ManualClock
from mqframe_testing.conformance import CoordinationConformance

from mqframe.core.errors import ClosedError, CoordinationError, SettingError
from mqframe.hooks.interfaces import Coordination, GroupPlace, Snapshot
from mqframe.hooks.manager import PluginManager

POLL = 0.25
PATIENT: dict[str, Any] = {"timeout_seconds": 30.0, "poll_seconds": POLL}


def place(member: int) -> GroupPlace:
    return GroupPlace("DefaultCluster", "broker-a", member)


def make(file: Path, clock: ManualClock | None = None, **options: Any) -> SqliteCoordination:
    chosen = SqliteCoordination.Options(file=file, **{**PATIENT, **options})
    return SqliteCoordination(clock or ManualClock(), chosen)


async def pass_time(clock: ManualClock, seconds: float) -> None:
    """Move `clock` by `seconds`, in steps, each once those who look at a file sleep again, or saw enough."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        while not clock.timers and len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)
        await clock.aadvance(min(POLL, end - clock.monotonic()))


class TestSqliteConformance(CoordinationConformance):
    ttl_seconds = 24.0

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "groups.sqlite3"
        self.clock = ManualClock()

    def make(self) -> Coordination:
        return make(self.file, self.clock)

    async def wait(self, seconds: float) -> None:
        await pass_time(self.clock, seconds)


def test_it_is_named_sqlite_and_needs_a_file(tmp_path: Path) -> None:
    plugins = PluginManager()
    table = {"file": str(tmp_path / "groups.sqlite3"), "poll_seconds": "0.5"}
    made = plugins.create("coordination", "sqlite", table, ManualClock())
    assert type(made) is SqliteCoordination
    options = plugins.check("coordination", ("sqlite", table))
    assert options == SqliteCoordination.Options(file=tmp_path / "groups.sqlite3", poll_seconds=0.5)
    with pytest.raises(SettingError, match="plugin sqlite needs the option file"):
        plugins.create("coordination", "sqlite", None, ManualClock())


async def test_the_file_is_made_with_its_folders_for_its_owner_alone(tmp_path: Path) -> None:
    member = make(tmp_path / "of" / "groups" / "file.sqlite3")
    await member.start(place(1), 60.0)
    found = list((tmp_path / "of" / "groups").iterdir())
    assert {path.name for path in found} >= {"file.sqlite3", "file.sqlite3-wal"}
    assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
    await member.stop()


async def test_a_file_that_others_keep_locked_is_an_error_and_nothing_was_done(tmp_path: Path) -> None:
    file = tmp_path / "groups.sqlite3"
    member = make(file)
    await member.start(place(1), 60.0)
    other = make(file, timeout_seconds=1.0)
    with closing(sqlite3.connect(file, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        with pytest.raises(CoordinationError, match=r"groups\.sqlite3: database is locked") as raised:
            await other.start(place(2), 60.0)
        assert not raised.value.maybe_stored
        with pytest.raises(ClosedError):
            await other.read()
    assert await other.start(place(2), 60.0) == 60.0
    assert await member.claim(b"state 1", b"leader 1", 0) == 1
    with closing(sqlite3.connect(file, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        with pytest.raises(CoordinationError, match="database is locked"):
            await other.force(place(2), b"state 2", 1)
        await other.stop()  # its lease runs out
    assert await member.read() == Snapshot(b"state 1", 1, b"leader 1", {})
    await member.stop()


async def test_what_is_no_database_is_an_error(tmp_path: Path) -> None:
    async def check(file: Path) -> None:
        member = make(file)
        with pytest.raises(CoordinationError, match=str(file)) as raised:
            await member.start(place(1), 60.0)
        assert not raised.value.maybe_stored
        await member.stop()

    letter = tmp_path / "letter"
    letter.write_text("Dear Sir or Madam, " * 100)
    await check(letter)
    await check(letter / "groups.sqlite3")
    await check(tmp_path)


class StandingClock(ManualClock):
    """Whoever asks it in a thread waits until it is let go: as long as a disk may take."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.go.set()

    def monotonic(self) -> float:
        self.go.wait()
        return super().monotonic()


async def test_a_disk_that_does_not_answer_leaves_the_outcome_open(tmp_path: Path) -> None:
    clock = StandingClock()
    member = make(tmp_path / "groups.sqlite3", clock, timeout_seconds=1.0)
    patient = make(tmp_path / "groups.sqlite3")
    for each, number in ((patient, 2), (member, 1)):
        await each.start(place(number), 200.0)
    clock.go.clear()
    with pytest.raises(CoordinationError, match="the disk does not answer") as raised:
        await member.claim(b"state 1", b"leader 1", 0)
    assert raised.value.maybe_stored
    clock.go.set()
    await patient.force(place(2), b"state 0", 5)  # refused, after the claim
    assert await patient.read() == Snapshot(b"state 1", 1, b"leader 1", {})
    assert await member.change(b"state 2", 1) == 2
    await member.stop()
    await patient.stop()


RUNNING_FOR_IT = """
import asyncio, json, sys
from pathlib import Path
from mqframe.hooks.interfaces import GroupPlace
from mqframe.net.clock import SystemClock
from mqframe_election.coordination.sqlite import SqliteCoordination

async def run():
    options = SqliteCoordination.Options(file=Path(sys.argv[1]), timeout_seconds=30.0, poll_seconds=0.001)
    member = SqliteCoordination(SystemClock(), options)
    number, mine = int(sys.argv[2]), []
    await member.start(GroupPlace("c", "b", number), 200.0)
    while (seen := await member.read()).version < int(sys.argv[3]):
        if seen.leader is not None:
            await member.changed()
        elif version := await member.claim(b"%d" % number, b"%d" % number, seen.version):
            found = await member.read()
            assert (found.state, found.version, found.leader) == (b"%d" % number, version, b"%d" % number)
            mine += [version, await member.change(b"%d again" % number, version)]
            await member.step_down()
    await member.stop()
    print(json.dumps(mine))

asyncio.run(run())
"""


def test_of_processes_that_claim_at_once_one_wins_each_time(tmp_path: Path) -> None:
    goal = 60
    command = [sys.executable, "-c", RUNNING_FOR_IT, str(tmp_path / "groups.sqlite3")]
    running = [
        subprocess.Popen([*command, str(number), str(goal)], stdout=subprocess.PIPE, text=True)
        for number in (1, 2, 3)
    ]
    told = [each.communicate(timeout=120)[0] for each in running]
    assert [each.returncode for each in running] == [0, 0, 0]
    versions = sorted(version for each in told for version in json.loads(each))
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) >= goal

"""Leases that end, and transactions that fail in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mqframe_election.coordination.group_file import GroupFile

from mqframe.core.errors import CoordinationError
from mqframe.hooks.interfaces import GroupPlace, Snapshot

HERE = GroupPlace("DefaultCluster", "broker-a", 1)
TTL = 10.0


class Machine:
    """A machine that can be switched off and on: its clock begins anew then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = 1000.0
        self.boot = "first"
        self.opened: list[GroupFile] = []

    def file(self) -> GroupFile:
        self.opened.append(GroupFile(self.path, lambda: self.now, self.boot))
        return self.opened[-1]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "groups.sqlite3")
    yield made
    for each in made.opened:
        each.close()


def leading(file: GroupFile) -> int:
    """A lease by which HERE leads, at version 1, and is announced."""
    lease = file.grant(HERE, TTL)
    assert file.announce(HERE, lease, b"replica 1")
    assert file.claim(HERE, lease, b"state 1", b"leader 1", 0) == 1
    return lease


ALL = Snapshot(b"state 1", 1, b"leader 1", {1: b"replica 1"})
LEFT = Snapshot(b"state 1", 1, None, {})


def test_a_lease_ends_at_its_deadline_and_not_before(machine: Machine) -> None:
    file = machine.file()
    lease = leading(file)
    machine.now += TTL - 0.001
    assert file.read(HERE)[0] == ALL
    assert file.renew(HERE, lease)
    machine.now += TTL - 0.001
    assert file.read(HERE)[0] == ALL
    machine.now += 0.001
    assert file.read(HERE)[0] == LEFT
    assert not file.renew(HERE, lease)


def test_the_end_of_a_lease_is_a_change_before_anybody_acts_on_it(machine: Machine) -> None:
    file, other = machine.file(), machine.file()
    leading(file)
    _, changes = other.read(HERE)
    assert other.is_as_read(HERE, changes)
    machine.now += TTL
    assert not other.is_as_read(HERE, changes)
    assert other.read(HERE)[0] == LEFT


def test_what_was_never_read_counts_as_changed(machine: Machine) -> None:
    assert not machine.file().is_as_read(HERE, 0)


@pytest.mark.parametrize("now", [5.0, 1004.0, 5000.0])
def test_no_lease_outlives_its_boot(machine: Machine, now: float) -> None:
    lease = leading(machine.file())
    machine.boot, machine.now = "second", now
    file = machine.file()
    assert file.read(HERE)[0] == LEFT
    assert not file.renew(HERE, lease)
    assert file.claim(HERE, file.grant(HERE, TTL), b"state 2", b"leader 2", 1) == 2


def test_where_nothing_names_the_boot_a_deadline_too_far_ahead_is_of_another(machine: Machine) -> None:
    machine.boot = ""
    leading(machine.file())
    machine.now = 5.0
    assert machine.file().read(HERE)[0] == LEFT


def test_leases_of_other_groups_are_theirs(machine: Machine) -> None:
    file, other = machine.file(), HERE._replace(broker="broker-b")
    lease = leading(file)
    assert not file.renew(other, lease)
    assert not file.announce(other, lease, b"x")
    assert file.claim(other, lease, b"state", b"leader", 0) == 0
    assert file.read(other)[0] == Snapshot(None, 0, None, {})
    file.revoke(HERE, file.grant(other, TTL))
    assert file.read(HERE)[0] == ALL


def test_a_transaction_that_fails_in_between_did_nothing(machine: Machine) -> None:
    file = machine.file()
    lease = file.grant(HERE, TTL)
    before = file.read(HERE)
    with closing(sqlite3.connect(machine.path)) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE UPDATE OF state ON coordination_groups"
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        database.commit()
        with pytest.raises(CoordinationError, match="no room") as raised:
            file.claim(HERE, lease, b"state 1", b"leader 1", 0)
        assert not raised.value.maybe_stored
        assert file.read(HERE) == before
        database.execute("DROP TRIGGER full")
        database.commit()
    assert file.claim(HERE, lease, b"state 1", b"leader 1", 0) == 1


def test_a_file_can_be_opened_again(machine: Machine) -> None:
    file = machine.file()
    leading(file)
    file.close()
    file.close()
    assert file.read(HERE)[0] == ALL


@pytest.mark.parametrize("looks", [3, 1000])
def test_a_new_file_that_another_process_makes_too_is_waited_for(tmp_path: Path, looks: int) -> None:
    path = tmp_path / "groups.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        now = 1000.0

        def monotonic() -> float:
            nonlocal looks, now
            looks -= 1
            now += 0.001
            if not looks:
                other.execute("ROLLBACK")
            return now

        file = GroupFile(path, monotonic, "boot")
        file.busy_seconds = 0.01
        if looks > 100:
            with pytest.raises(CoordinationError, match="locked") as raised:
                file.read(HERE)
            assert not raised.value.maybe_stored
            other.execute("ROLLBACK")
        assert file.grant(HERE, TTL) == 1
        file.close()

"""What a broker of an elected group has on disk before it acts on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_election.broker.replica_state import EPOCHS, REPLICA, ReplicaState
from mqframe_election.rules.history import EpochHistory

from mqframe.core.errors import StoreError


def test_what_was_noted_is_there_in_the_next_life(tmp_path: Path) -> None:
    replica = ReplicaState(tmp_path, "folder")
    replica.opened("boot 1", may_lack=True)
    replica.heard(7)
    replica.heard(3)
    replica.confirmed_to(500)
    replica.confirmed_to(400)
    replica.record(EpochHistory([(2, 0), (6, 300)]))
    again = ReplicaState(tmp_path, "another")
    assert (again.store, again.epoch, again.confirmed, again.is_clean) == ("folder", 7, 500, True)
    assert again.history == EpochHistory([(2, 0), (6, 300)])


def test_an_epoch_of_the_log_counts_as_heard_of(tmp_path: Path) -> None:
    replica = ReplicaState(tmp_path, "folder")
    replica.record(EpochHistory([(4, 0)]))
    assert ReplicaState(tmp_path, "").epoch == 4


@pytest.mark.parametrize(
    ("boot", "may_lack", "is_clean"),
    [("boot 1", True, True), ("boot 2", False, True), ("boot 2", True, False)],
)
def test_only_a_failure_of_the_machine_takes_what_was_written_and_not_synced(
    tmp_path: Path, boot: str, may_lack: bool, is_clean: bool
) -> None:
    ReplicaState(tmp_path, "folder").opened("boot 1", may_lack=False)
    replica = ReplicaState(tmp_path, "")
    replica.opened(boot, may_lack=may_lack)
    assert replica.is_clean is is_clean
    again = ReplicaState(tmp_path, "")
    again.opened(boot, may_lack=may_lack)
    assert again.is_clean is is_clean  # an orderly start later does not bring back what is gone
    again.cleaned()
    assert ReplicaState(tmp_path, "").is_clean


def test_what_an_operator_gave_up_is_confirmed_no_more(tmp_path: Path) -> None:
    replica = ReplicaState(tmp_path, "folder")
    replica.confirmed_to(500)
    replica.forget_confirmed(300)
    replica.forget_confirmed(400)
    assert ReplicaState(tmp_path, "").confirmed == 300


@pytest.mark.parametrize("name", [EPOCHS, REPLICA])
def test_damaged_files_stop_the_start_and_the_one_before_is_taken_where_there_is_one(
    tmp_path: Path, name: str
) -> None:
    replica = ReplicaState(tmp_path, "folder")
    replica.confirmed_to(100)
    replica.record(EpochHistory([(1, 0)]))
    (tmp_path / name).write_bytes(b"{damaged")
    with pytest.raises(StoreError, match=name):
        ReplicaState(tmp_path, "folder")

"""`mqframe replica`."""

from __future__ import annotations

from command_runs import read, run

from mqframe.cli.live.replica import replica_rows
from mqframe.core.replication.replica import Replica

HERE = ("DefaultCluster", "broker-a")


def test_a_broker_that_is_alone_has_no_slave(at: str) -> None:
    (row,) = read("replica", "status")
    assert (row["broker"], row["id"], row["role"]) == ("broker-a", 0, "ASYNC_MASTER")
    assert row["log_end"] >= 0
    assert (row["behind_bytes"], row["state"]) == (None, "no slave is connected")
    assert [row] == read("replica", "status", "broker-a")
    run("replica", "status", "broker-z", code=2)


def test_states_are_told_in_words() -> None:
    replicas = [
        Replica(*HERE, 0, "m:1", "SYNC_MASTER", 900, slaves=2, in_sync=1),
        Replica(*HERE, 1, "s:1", "SLAVE", 900, 0, master="m:2"),
        Replica(*HERE, 2, "s:2", "SLAVE", 300, 600, 2_000, master="", trouble="the logs differ"),
        Replica(*HERE, 3, "s:3", "SLAVE", 100, 800, None),
        Replica(*HERE, 4, "s:4", trouble="no connection to s:4"),
    ]
    rows = replica_rows(replicas, now_ms=5_500)
    assert [(row["behind_bytes"], row["behind_s"], row["state"]) for row in rows] == [
        (None, None, "2 slaves, 1 in sync"),
        (0, 0.0, "follows m:2"),
        (600, 3.5, "the logs differ"),
        (800, None, ""),
        (None, None, "no connection to s:4"),
    ]

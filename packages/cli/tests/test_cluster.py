"""`mqframe cluster` against a running server."""

from __future__ import annotations

import asyncio

import pytest
from command_runs import read, run
from mqframe_testing.ports import lasting_port
from nameserver.place import Place

from mqframe.core.requests.nameserver import RegisterBroker


def test_cluster_lists_brokers_and_their_settings(at: str) -> None:
    (row,) = read("cluster")
    assert (row["cluster"], row["broker"], row["role"]) == ("DefaultCluster", "broker-a", "master")
    assert row["version"] == "V5_3_3"
    assert row["in_per_s"] >= 0
    assert row["out_per_s"] >= 0
    assert 0 < row["disk_percent"] <= 100
    assert row["problem"] == ""
    assert read("cluster", "--settings", "broker-a")["brokerName"] == "broker-a"
    assert read("cluster", "--runtime", "broker-a")


def test_cluster_says_where_settings_come_from(at: str) -> None:
    rows = read("cluster", "--settings", "broker-a", "--origins")
    told = {row["setting"]: (row["value"], row["origin"]) for row in rows}
    assert told["mappedFileSizeCommitLog"] == ("16777216", "command line --set store.commit_log_file_bytes")
    assert told["brokerName"] == ("broker-a", "default")
    run("cluster", "--origins", code=2)


async def test_a_broker_that_does_not_answer_is_listed_with_why(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = f"127.0.0.1:{lasting_port()}"

    async with Place() as place:
        answer = await place.call(RegisterBroker("broker-a", nowhere, "C", "127.0.0.1:1", 0))
        assert answer.code == 0
        monkeypatch.setenv("NAMESRV_ADDR", place.server.address)
        (row,) = await asyncio.to_thread(read, "cluster")
    assert (row["broker"], row["address"], row["version"], row["disk_percent"]) == (
        "broker-a", nowhere, None, None
    )  # fmt: skip
    assert f"no connection to {nowhere}" in row["problem"]

"""`mqframe cluster` against a running server."""

from __future__ import annotations

from command_runs import read, run


def test_cluster_lists_brokers_and_their_settings(at: str) -> None:
    (row,) = read("cluster")
    assert (row["cluster"], row["broker"], row["role"]) == ("DefaultCluster", "broker-a", "master")
    assert read("cluster", "--settings", "broker-a")["brokerName"] == "broker-a"
    assert read("cluster", "--runtime", "broker-a")


def test_cluster_says_where_settings_come_from(at: str) -> None:
    rows = read("cluster", "--settings", "broker-a", "--origins")
    told = {row["setting"]: (row["value"], row["origin"]) for row in rows}
    assert told["mappedFileSizeCommitLog"] == ("16777216", "command line --set store.commit_log_file_bytes")
    assert told["brokerName"] == ("broker-a", "default")
    run("cluster", "--origins", code=2)

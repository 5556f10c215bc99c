"""`mqframe cluster` against a running server."""

from __future__ import annotations

from command_runs import read


def test_cluster_lists_brokers_and_their_settings(at: str) -> None:
    (row,) = read("cluster")
    assert (row["cluster"], row["broker"], row["role"]) == ("DefaultCluster", "broker-a", "master")
    assert read("cluster", "--settings", "broker-a")["brokerName"] == "broker-a"
    assert read("cluster", "--runtime", "broker-a")

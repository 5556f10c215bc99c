"""Brokers by mqadmin's names."""

from __future__ import annotations

from command_runs import read, run

C = ("-c", "DefaultCluster")


def test_brokers_are_seen_and_set(at: str) -> None:
    (row,) = read("mqadmin", "clusterList", "-n", at)
    assert (row["cluster"], row["broker"]) == ("DefaultCluster", "broker-a")
    assert read("mqadmin", "clusterList", "-n", at, "-c", "other") == []
    status = {row["key"] for row in read("mqadmin", "brokerStatus", "-n", at, "-b", row["address"])}
    assert "putTps" in status
    config = read("mqadmin", "getBrokerConfig", *C, "-k", "brokerN*")
    assert config == [{"broker": "broker-a", "key": "brokerName", "value": "broker-a"}]
    run("mqadmin", "updateBrokerConfig", *C, "-k", "nonsense", "-v", "1", code=2)
    run("mqadmin", "brokerStatus", code=2)


def test_a_setting_is_changed_while_the_broker_runs(at: str) -> None:
    key = ("-k", "longPollingEnable")
    (before,) = read("mqadmin", "getBrokerConfig", *C, *key)
    run("mqadmin", "updateBrokerConfig", *C, *key, "-v", "false")
    (now,) = read("mqadmin", "getBrokerConfig", *C, *key)
    assert now["value"] == "false"
    run("mqadmin", "updateBrokerConfig", *C, *key, "-v", before["value"])


def test_producers_leave_a_broker_and_come_back(at: str) -> None:
    run("topic", "create", "adm-perm", "--queues", "1")

    def perm() -> int:
        (row,) = read("topic", "show", "adm-perm")
        return int(row["perm"])

    assert read("mqadmin", "wipeWritePerm", "-n", at, "-b", "broker-a")["topics"] > 0
    assert perm() == 4
    run("mqadmin", "addWritePerm", "-n", at, "-b", "broker-a")
    assert perm() == 6
    run("mqadmin", "wipeWritePerm", "-b", "broker-z", code=2)

"""What is alarming of what was seen."""

from __future__ import annotations

import pytest
from mqframe_admin.rules.replica import Replica
from mqframe_dashboard.alarms.rules import (
    BEHIND_BYTES,
    BEHIND_MS,
    BrokerGone,
    BrokerSeen,
    ClusterSeen,
    GroupSeen,
    alarms_of,
    gone_brokers,
)

NOW = 1_700_000_000_000
FINE = {"commitLogDiskRatio": "0.4", "storeTrouble": "", "replicationTrouble": ""}
MASTER = BrokerSeen("a", 0, "a:1", FINE)


def seen(**parts):
    return ClusterSeen(NOW, **({"brokers": [MASTER]} | parts))


def told(**parts):
    """Each alarm's text, where it leads, and whether it is severe."""
    return [(each.link.text, each.link.href, each.severe) for each in alarms_of(seen(**parts))]


def slave(**fields):
    return Replica("c", "a", 1, "a:2", role="SLAVE", master="a:3", **fields)


def test_a_cluster_that_is_well_has_no_alarm():
    replicas = [Replica("c", "a", 0, "a:1", role="SYNC_MASTER", slaves=1, in_sync=1), slave(behind_bytes=0)]
    groups = [GroupSeen("g", 5, 1), GroupSeen("idle", 0, 0), GroupSeen("hidden", 5, None)]
    assert told(replicas=replicas, groups=groups) == []


def test_no_broker_at_all_is_severe():
    assert told(brokers=[]) == [("No broker is registered.", "./", True)]


@pytest.mark.parametrize(("ratio", "percent"), [("0.85", "85"), ("0.9312", "93.1")])
def test_a_disk_that_is_nearly_full(ratio, percent):
    full = BrokerSeen("a", 0, "a:1", {**FINE, "commitLogDiskRatio": ratio})
    text = f"Broker a (0): its disk is nearly full: {percent}% are used"
    assert told(brokers=[full]) == [(text, "broker?name=a&id=0", True)]
    roomy = BrokerSeen("a", 0, "a:1", {**FINE, "commitLogDiskRatio": "0.849"})
    assert told(brokers=[roomy]) == []


def test_a_broker_that_is_silent_or_says_what_is_wrong():
    silent = BrokerSeen("a", 0, "a:1", silent="refused")
    ill = BrokerSeen("b", 0, "b:1", {**FINE, "storeTrouble": "the disk is full"})
    found = told(brokers=[silent, ill], replicas=[Replica("c", "a", 0, "a:1", trouble="refused")])
    assert found == [
        ("Broker a (0): does not answer: refused", "broker?name=a&id=0", True),
        ("Broker b (0): the disk is full", "broker?name=b&id=0", True),
    ]


def test_brokers_that_are_gone():
    known = [
        BrokerGone("a", 0, "a:1", NOW),
        BrokerGone("b", 0, "b:1", NOW - 180_000),
        BrokerGone("a", 2, "a:7", NOW - 30_000),
        BrokerGone("moved", 0, "old:1", NOW),
        BrokerGone("elected", 2, "e:2", NOW),
    ]
    brokers = [MASTER, BrokerSeen("moved", 0, "new:1", FINE), BrokerSeen("elected", 0, "e:2", FINE)]
    gone = gone_brokers(known, brokers)
    assert gone == [known[1], known[2]]
    assert told(gone=gone) == [
        ("Broker b (0) at b:1 is gone: it was registered 3 min ago.", "replication", True),
        ("Broker a (2) at a:7 is gone: it was registered 30 s ago.", "replication", False),
    ]


@pytest.mark.parametrize(("epoch", "word"), [(None, "master"), (3, "leader")])
def test_a_name_without_a_master_or_a_leader(epoch, word):
    followers = [Replica("c", "b", 1, "b:2", role="FOLLOWER", epoch=epoch)]
    found = told(brokers=[MASTER, BrokerSeen("b", 1, "b:2", FINE)], replicas=followers)
    assert found == [(f"b has no {word}: it takes no messages.", "replication", True)]


def test_slaves_that_are_behind():
    late = slave(behind_bytes=1500, behind_since_ms=NOW - 130_000)
    assert told(replicas=[late]) == [
        ("a (1) is behind: 1,500 bytes of the log, 2 min.", "replication", False)
    ]
    lot = slave(behind_bytes=BEHIND_BYTES)
    assert told(replicas=[lot]) == [("a (1) is behind: 67,108,864 bytes of the log.", "replication", False)]
    for near in (
        slave(behind_bytes=1, behind_since_ms=NOW - BEHIND_MS + 1),
        slave(behind_bytes=BEHIND_BYTES - 1),
    ):
        assert told(replicas=[near]) == []


def test_a_set_in_sync_that_is_smaller_than_it_should_be():
    some = Replica("c", "a", 0, "a:1", role="ASYNC_MASTER", slaves=3, in_sync=1)
    assert told(replicas=[some]) == [("a (0): 2 of 3 slaves are not in sync.", "replication", False)]
    alone = Replica("c", "a", 0, "a:1", role="SYNC_MASTER", slaves=0, in_sync=0)
    [(text, href, severe)] = told(replicas=[alone])
    assert "no slave is in sync: what it stores is there only once" in text
    assert (href, severe) == ("replication", True)


def test_trouble_of_a_follower_is_told_once():
    follower = slave(trouble="the logs differ at 77")
    assert told(replicas=[follower]) == [("a (1): the logs differ at 77", "replication", False)]
    broker = BrokerSeen("a", 1, "a:2", {**FINE, "replicationTrouble": "the logs differ at 77"})
    found = told(brokers=[MASTER, broker], replicas=[follower])
    assert [text for text, _, _ in found] == ["Broker a (1): the logs differ at 77"]


def test_dead_letters_that_come():
    found = told(letters={"few": 1, "many&": 1200}, letters_seconds=600.0)
    assert found == [
        ("Group many& gave up 1,200 messages within the last 10 min.", "letters?group=many%26", False),
        ("Group few gave up 1 message within the last 10 min.", "letters?group=few", False),
    ]


def test_groups_that_are_behind_with_nobody_there():
    groups = [GroupSeen("b", 10, 0), GroupSeen("a", 10, 0), GroupSeen("c", 3000, 0)]
    found = told(groups=groups)
    assert [href for _, href, _ in found] == ["group?name=c", "group?name=a", "group?name=b"]
    assert found[0][0] == "Group c is 3,000 messages behind, and no member is online."


def test_the_severe_ones_come_first_and_what_was_not_seen_is_told():
    silent = BrokerSeen("b", 0, "b:1", silent="refused")
    found = told(brokers=[MASTER, silent], groups=[GroupSeen("g", 5, 0)], unseen=["No progress: away"])
    assert [severe for _, _, severe in found] == [True, False, False]
    assert found[-1] == ("No progress: away", "alarms", False)

"""What Apache's broker does to commits that come beside others, and how tests live with that."""

from __future__ import annotations

from collections.abc import Mapping

from real_time import came, until

from interop.servers import Servers
from mqframe import Admin, MessageQueue, Puller

OVERTAKEN_SECONDS = 20.0
"""A commit that has not taken effect by then was undone."""


def remember(servers: Servers, group: str, topic: str) -> None:
    """Have the broker hold an offset of `group` in `topic`: 0, in its first queue.

    Members commit one-way, queue after queue, and Apache's broker serves these requests side by side. Where
    it holds nothing yet, each of them may put a new table in the place of another's: the commit of a queue is
    lost then, until its member commits the next time (ConsumerOffsetManager.commitOffset).
    """
    with Admin(nameserver=servers.nameserver) as admin:
        admin.groups.create(group)
    with Puller(group, nameserver=servers.nameserver) as puller:
        puller.commit(MessageQueue(topic, servers.broker_name, 0), 0)


def until_consumed(servers: Servers, group: str, topic: str) -> None:
    """Wait until the broker holds that `group`, whose members have left, has consumed all of `topic`."""
    with Admin(nameserver=servers.nameserver) as admin:
        stats = admin.groups.stats(group, topic)
    until_committed(servers, group, {queue: each.broker_offset for queue, each in stats.items()})


def until_committed(servers: Servers, group: str, ends: Mapping[MessageQueue, int]) -> None:
    """Wait until the broker holds that `group`, whose members have left, is at `ends` or behind.

    Apache's broker serves commits in other threads than pulls, so the older commit that came with a member's
    last pull may undo the one with which the member left (PullMessageProcessor.tryCommitOffset): then the
    member's commit is made once more.
    """
    with Admin(nameserver=servers.nameserver) as admin:
        (topic,) = {queue.topic for queue in ends}

        def committed() -> bool:
            stats = admin.groups.stats(group, topic)
            return all(stats[queue].consumer_offset >= end for queue, end in ends.items())

        if came(committed, OVERTAKEN_SECONDS):
            return
        assert servers.broker_name == "apache-a", "the last commit of a member was lost"
        with Puller(group, nameserver=servers.nameserver) as puller:
            for queue, end in ends.items():
                puller.commit(queue, end)
        until(committed)

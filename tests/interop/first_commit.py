"""Preparation of consumer groups whose members leave right after their first commit."""

from __future__ import annotations

from interop.servers import Servers
from mqframe import Admin, MessageQueue, Puller


def remember(servers: Servers, group: str, topic: str) -> None:
    """Have the broker hold an offset of `group` in `topic`: 0, in its first queue.

    Members commit one-way, queue after queue, and Apache's broker serves these requests side by side. Where
    it holds nothing yet, each of them may put a new table in the place of another's: the commit of a queue is
    lost then, until its member commits the next time (ConsumerOffsetManager.commitOffset).
    """
    with Admin(nameserver=servers.nameserver) as admin:
        admin.create_group(group)
    with Puller(group, nameserver=servers.nameserver) as puller:
        puller.commit(MessageQueue(topic, servers.broker_name, 0), 0)

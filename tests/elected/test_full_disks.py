"""An elected group of processes whose disks get full under load; mounts small disks, so it has to be root."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from elected.small_disks import fill, small_disks
from elected_group import ElectedGroup, Etcd
from real_time import until
from steady_load import TOPIC, Sender, sending, stored

SETTINGS = ("store.disk_limits=true",)
GAP_SECONDS_MAX, LEADS_SECONDS_MAX = 6.0, 10.0
BUSY = 3
"""So much slower a machine may be that does other things, too."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Etcd]:
    """On disks of their own for three brokers below `tmp_path`."""
    if shutil.which("etcd") is None:
        pytest.skip("not installed: etcd")
    try:
        with small_disks(tmp_path, 3):
            made = Etcd()
            yield made
            made.end()
    except OSError as problem:
        pytest.skip(f"no disks can be mounted here: {problem}")


def more(sender: Sender, count: int) -> None:
    goal = len(sender.times) + count
    until(lambda: len(sender.times) >= goal)


def longest_gap(sender: Sender, since: float) -> float:
    return max(after - before for before, after in pairwise(t for t in sender.times if t >= since - 1))


@pytest.mark.timeout(300)
def test_messages_are_taken_while_disks_get_full_and_none_is_lost(engine: Etcd, tmp_path: Path) -> None:
    with ElectedGroup(tmp_path, engine, *SETTINGS) as group:
        first = group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        group.admin.topics.create(TOPIC, queues=4)
        sender = Sender(group.nameserver)
        with sending(sender):
            more(sender, 100)
            follower, other = group.others(first)
            began = time.monotonic()
            fill(follower.folder)
            until(lambda: follower.number not in group.in_sync())
            more(sender, 100)
            assert longest_gap(sender, began) <= GAP_SECONDS_MAX * BUSY
            # Whichever file was to grow first says so in its words.
            trouble = group.counters(follower)["replicationTrouble"]
            assert "full" in trouble or "No space left" in trouble
            until(lambda: group.in_sync() == tuple(sorted((first.number, other.number))))
            began = time.monotonic()
            fill(first.folder)
            assert group.leader(other, seconds=LEADS_SECONDS_MAX * BUSY) is other
            more(sender, 100)
        assert not set(sender.acknowledged) - stored(group.nameserver).keys()

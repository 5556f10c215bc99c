#!/usr/bin/env python3
"""How long an elected group takes no messages when a disk gets full under load, and whether anything is lost.

    full_disks.py [--rounds 3] [--engine etcd]

A name server and three brokers, each a process with a small disk of its own, in memory; a client sends one
message after the other. The disk of a follower is filled to its last byte, and some time later emptied; then
that of the leader. Settings are the defaults but for log files of 16 MiB and `min_in_sync` 2. Has to mount
file systems: run it as root. Ends with 1 where a limit was missed, or a message that was acknowledged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from elected.small_disks import fill, make_room, small_disks  # noqa: E402
from elected_group import ElectedGroup, Etcd, SharedFile  # noqa: E402
from real_time import until  # noqa: E402
from steady_load import TOPIC, Sender, sending, stored  # noqa: E402

SETTINGS = ("replication.min_in_sync=2", "store.disk_limits=true")
GAP_SECONDS_MAX, LEADS_SECONDS_MAX = 6.0, 10.0
AFTER = 200
"""So many sends are acknowledged after each change."""


def more(sender: Sender, count: int = AFTER) -> None:
    """Wait until so many more sends are acknowledged."""
    goal = len(sender.times) + count
    until(lambda: len(sender.times) >= goal)


def gap(sender: Sender, since: float) -> float:
    """The longest time without an acknowledged send, from the last one before `since` on."""
    times = [each for each in sender.times if each >= since - 1]
    return max(after - before for before, after in pairwise(times))


def measure(folder: Path, engine: Etcd | SharedFile, rounds: int) -> bool:
    """Fill disks; whether all limits were kept."""
    everybody, well = (1, 2, 3), True
    with small_disks(folder, 3), ElectedGroup(folder, engine, *SETTINGS) as group:
        group.leader()
        until(lambda: group.in_sync() == everybody)
        group.admin.topics.create(TOPIC, queues=4)
        sender = Sender(group.nameserver)
        with sending(sender):
            for _ in range(rounds):
                more(sender)
                leader = group.leader()
                follower = group.others(leader)[0]
                began = time.monotonic()
                fill(follower.folder)
                until(lambda: follower.number not in group.in_sync())  # noqa: B023 - called at once
                more(sender)
                followers = gap(sender, began)
                make_room(follower.folder)
                until(lambda: group.in_sync() == everybody)
                more(sender)
                began = time.monotonic()
                fill(leader.folder)
                group.leader(*group.others(leader))
                took = time.monotonic() - began
                more(sender)
                leaders = gap(sender, began)
                make_room(leader.folder)
                until(lambda: group.in_sync() == everybody)
                print(
                    f"a follower's disk: longest gap {followers:.2f} s; the leader's: another one leads after"
                    f" {took:.2f} s, longest gap {leaders:.2f} s",
                    flush=True,
                )
                well = well and followers <= GAP_SECONDS_MAX and took <= LEADS_SECONDS_MAX
        lost = set(sender.acknowledged) - stored(group.nameserver).keys()
        print(
            f"acknowledged {len(sender.acknowledged)}, lost {len(lost)}, answered otherwise"
            f" {len(sender.failed)}"
        )
    return well and not lost


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", default="etcd", choices=("etcd", "sqlite"))
    arguments: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = Etcd() if arguments.engine == "etcd" else SharedFile(Path(folder))
        try:
            well = measure(Path(folder), engine, arguments.rounds)
        finally:
            engine.end()
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()

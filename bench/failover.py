#!/usr/bin/env python3
"""How long an elected group takes no messages when its leader is killed, and what it costs to be one.

    failover.py [--kills 5] [--engines etcd,sqlite] [--leases 5000,3000] [--java] [--rounds 3] [--count 4000]

A name server and three brokers, each a process; a client sends one message after the other. Its gap is the
time from the last send that was acknowledged before SIGKILL of the leader to the first one after that.
Clients ask for routes every second; all other settings but the lease are the defaults (and `min_in_sync` is
2, so that a follower in sync is always there). `--java`: the gaps of an unchanged Java client as well, at the
same kills. `--kills 0` leaves this part out, `--count 0` the next.

Then awaited sends of 1 KiB, 16 and then 64 at a time: to a lone broker, a SYNC_MASTER with a slave, and an
elected group of two. All run at once, and are measured in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from elected_group import ElectedGroup, Etcd, SharedFile  # noqa: E402
from mqframe_testing.ports import lasting_port  # noqa: E402
from real_time import until  # noqa: E402
from replication import IN_FLIGHT, Costs, master, sends, slave, until_followed  # noqa: E402
from steady_load import TOPIC, Sender, sending  # noqa: E402

from mqframe import Admin  # noqa: E402

BEFORE, AFTER = 100, 20
"""So many sends are acknowledged before a kill, and after it."""


class JavaSender:
    """As `steady_load.Sender`: a Java client, in its process."""

    def __init__(self, nameserver: str, home: Path) -> None:
        from interop.conftest import java_class_path, java_client
        from interop.foreign_programs import NEWEST

        self._client = java_client(java_class_path(NEWEST), ["Steady", "send", nameserver, TOPIC], home)
        self._times: list[float] = []

    @property
    def times(self) -> list[float]:
        """When sends were acknowledged, by the same clock as `time.monotonic`."""
        said = self._client.waiting("sent")
        self._times += [int(line[3]) / 1e9 for line in said if line[1] == "SEND_OK"]
        return self._times

    def stop(self) -> None:
        self._client.finish()
        self._client.end()


def more(senders: dict[str, Any], count: int) -> None:
    """Wait until each had `count` more sends acknowledged."""
    goals = {name: len(sender.times) + count for name, sender in senders.items()}
    until(lambda: all(len(sender.times) >= goals[name] for name, sender in senders.items()))


def measure_gaps(folder: Path, engine: Etcd | SharedFile, kills: int, lease: int, java: bool) -> None:
    found: dict[str, list[float]] = {}
    settings = ("replication.min_in_sync=2", f"election.lease_ms={lease}")
    with ElectedGroup(folder, engine, *settings) as group, ExitStack() as stack:
        group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        group.admin.topics.create(TOPIC, queues=4)
        python = Sender(group.nameserver)
        senders: dict[str, Any] = {"Python": python}
        stack.enter_context(sending(python))
        if java:
            senders["Java"] = JavaSender(group.nameserver, folder)
            stack.callback(senders["Java"].stop)
        for _ in range(kills):
            until(lambda: group.in_sync() == (1, 2, 3))
            more(senders, BEFORE)
            leader = group.leader()
            before = {name: len(sender.times) - 1 for name, sender in senders.items()}
            leader.kill()
            more(senders, AFTER)
            for name, sender in senders.items():
                times = sender.times[before[name] :]
                gap = max(after - early for early, after in pairwise(times))
                found.setdefault(name, []).append(gap)
            leader.start()
            leader.ready()
    for name, gaps in found.items():
        print(
            f"{type(engine).__name__:10} lease {lease} ms  {name:6} median {statistics.median(gaps):5.2f} s"
            f"  max {max(gaps):5.2f} s  ({', '.join(f'{gap:.2f}' for gap in gaps)})",
            flush=True,
        )


@contextlib.contextmanager
def engine_of(name: str, folder: Path) -> Iterator[Etcd | SharedFile]:
    engine = Etcd() if name == "etcd" else SharedFile(folder)
    try:
        yield engine
    finally:
        engine.end()


def measure_sends(folder: Path, engine: Etcd | SharedFile, rounds: int, count: int) -> None:
    with ExitStack() as stack:
        lone, lone_pid = master(stack, folder, "NONE")
        copied, copied_pid = master(stack, folder, "SYNC_MASTER")
        port = lasting_port(-2)
        slave_pid = stack.enter_context(slave(folder / "slave", copied.nameserver, port))
        with Admin(nameserver=copied.nameserver) as admin:
            until_followed(admin, f"127.0.0.1:{port}")
        usual = "store.commit_log_file_bytes=1073741824"
        pair = stack.enter_context(ElectedGroup(folder, engine, "replication.min_in_sync=2", usual, count=2))
        leader = pair.leader()
        until(lambda: pair.in_sync() == (1, 2))
        [follower] = pair.others(leader)
        nameservers = {"NONE": lone.nameserver, "SYNC_MASTER": copied.nameserver, "ELECTED": pair.nameserver}
        pids = {
            "NONE": {"broker": lone_pid},
            "SYNC_MASTER": {"master": copied_pid, "slave": slave_pid},
            "ELECTED": {"leader": leader.pid, "follower": follower.pid},
        }
        for in_flight in IN_FLIGHT:
            rates: dict[str, list[float]] = {role: [] for role in nameservers}
            costs = {role: Costs(client=os.getpid(), **pids[role]) for role in nameservers}
            for _ in range(rounds):
                for role, nameserver in nameservers.items():
                    costs[role].begin()
                    rates[role].append(asyncio.run(sends(nameserver, count, in_flight)))
                    costs[role].end(count)
            alone = statistics.median(rates["NONE"])
            for role in nameservers:
                rate = statistics.median(rates[role])
                print(
                    f"{in_flight:3} in flight  {role:12} {rate:8,.0f} msg/s  {rate / alone:.2f}"
                    f"  processor µs: {costs[role]}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--engines", default="etcd,sqlite")
    parser.add_argument("--leases", default="5000,3000")
    parser.add_argument("--java", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=4000)
    arguments: Any = parser.parse_args()
    engines = arguments.engines.split(",")
    for name in engines if arguments.kills else ():
        for lease in map(int, arguments.leases.split(",")):
            with tempfile.TemporaryDirectory() as folder, engine_of(name, Path(folder)) as engine:
                measure_gaps(Path(folder), engine, arguments.kills, lease, arguments.java)
    if arguments.count:
        with tempfile.TemporaryDirectory() as folder, engine_of(engines[0], Path(folder)) as engine:
            measure_sends(Path(folder), engine, arguments.rounds, arguments.count)


if __name__ == "__main__":
    main()

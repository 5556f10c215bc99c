#!/usr/bin/env python3
"""What a slave costs: awaited sends to a lone master, an ASYNC_MASTER and a SYNC_MASTER, and catching up.

Besides rates it prints the processor time that a message costs client, master and slave: on a machine that
others use it tells more.

    replication.py [--rounds 3] [--count 4000] [--mib 128]

Three masters, two of them with a slave, run at once in processes of their own; each is sent messages of 1 KiB
in turn, 16 and then 64 at a time. Then an ASYNC_MASTER of which nobody has a copy gets a log of `--mib` MiB,
and a slave is started: its rate is that between 5 % of the log and all of it, so that starting is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mqframe_testing.ports import lasting_port
from mqframe_testing.server_process import ServerProcess

from mqframe import Admin, AsyncProducer, Message, MqframeError

BODY = b"x" * 1024
ROLES = ("NONE", "ASYNC_MASTER", "SYNC_MASTER")
IN_FLIGHT = (16, 64)
BATCH = 200
NAME = "broker.name=bench"


def children() -> set[int]:
    """Ids of the processes that this one has started."""
    found = (each / "children" for each in Path("/proc/self/task").iterdir())
    return {int(pid) for each in found for pid in each.read_text().split()}


def master(stack: ExitStack, folder: Path, role: str) -> tuple[ServerProcess, int]:
    """The server, and its process id."""
    settings, before = (NAME, f"replication.role={role}", "replication.port=0"), children()
    server = stack.enter_context(ServerProcess(folder / f"{role}-master", *settings))
    [pid] = children() - before
    return server, pid


def processor_seconds(pid: int) -> float:
    """Processor time of all threads of a process until now, by the scheduler's clock of ns."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in threads) / 1e9


class Costs:
    """Processor time of processes by their names, from `begin` on."""

    def __init__(self, **pids: int) -> None:
        self._pids = pids
        self._spent = dict.fromkeys(pids, 0.0)
        self._messages = 0
        self._begun: dict[str, float] = {}

    def begin(self) -> None:
        self._begun = {name: processor_seconds(pid) for name, pid in self._pids.items()}

    def end(self, messages: float) -> None:
        for name, pid in self._pids.items():
            self._spent[name] += processor_seconds(pid) - self._begun[name]
        self._messages += messages

    def __str__(self) -> str:
        return "  ".join(f"{name} {spent / self._messages * 1e6:.1f}" for name, spent in self._spent.items())


@contextmanager
def slave(folder: Path, nameserver: str, port: int) -> Iterator[int]:
    """`mqframe broker`, which copies the master that `nameserver` knows; its process id."""
    command = [sys.executable, "-m", "mqframe", "broker", "--nameserver", nameserver, "--port", str(port)]
    command += ["--data", str(folder), "--set", NAME, "--set", "replication.role=SLAVE"]
    command += ["--set", "replication.id=1", "--set", "store.disk_limits=false"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MQFRAME_")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean)
    assert process.stdout is not None
    try:
        if not process.stdout.readline().startswith("ready"):
            raise SystemExit("the slave did not start")
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def log_end(admin: Admin, address: str) -> int:
    try:
        return int(admin.brokers.runtime(address)["commitLogMaxOffset"])
    except MqframeError:
        return 0


def until_followed(admin: Admin, address: str) -> None:
    for _ in range(600):
        counters = admin.brokers.runtime(address)
        if counters.get("replicationFollows") == "true":
            return
        time.sleep(0.1)
    raise SystemExit(f"the slave does not follow: {counters.get('replicationTrouble')}")


async def sends(nameserver: str, count: int, in_flight: int) -> float:
    """Messages a second."""
    async with AsyncProducer("bench", nameserver=nameserver) as producer:
        await producer.send(Message("bench", BODY))

        async def some(number: int) -> None:
            for _ in range(number):
                result = await producer.send(Message("bench", BODY))
                if result.status.name != "SEND_OK":
                    raise SystemExit(f"a send was answered {result.status}")

        await asyncio.gather(*(some(20) for _ in range(in_flight)))
        started = time.perf_counter()
        await asyncio.gather(*(some(count // in_flight) for _ in range(in_flight)))
        return count // in_flight * in_flight / (time.perf_counter() - started)


def measure_sends(folder: Path, rounds: int, count: int) -> None:
    with ExitStack() as stack:
        started = {role: master(stack, folder, role) for role in ROLES}
        masters = {role: server for role, (server, _) in started.items()}
        pids = {role: {"client": os.getpid(), "master": pid} for role, (_, pid) in started.items()}
        for role in ROLES[1:]:
            server, port = masters[role], lasting_port(-2)
            pids[role]["slave"] = stack.enter_context(
                slave(folder / f"{role}-slave", server.nameserver, port)
            )
            with Admin(nameserver=server.nameserver) as admin:
                until_followed(admin, f"127.0.0.1:{port}")
        for in_flight in IN_FLIGHT:
            found: dict[str, list[float]] = {role: [] for role in ROLES}
            costs = {role: Costs(**pids[role]) for role in ROLES}
            for _ in range(rounds):
                for role, server in masters.items():
                    costs[role].begin()
                    found[role].append(asyncio.run(sends(server.nameserver, count, in_flight)))
                    costs[role].end(count + 20 * in_flight)
            alone = statistics.median(found["NONE"])
            for role, rates in found.items():
                rate = statistics.median(rates)
                print(
                    f"{in_flight:3} in flight  {role:12} {rate:8,.0f} msg/s  {rate / alone:.2f}"
                    f"   us a message: {costs[role]}",
                    flush=True,
                )


async def fill(nameserver: str, mib: int) -> float:
    """Send batches until the log has so many MiB; MB/s."""
    async with AsyncProducer("bench", nameserver=nameserver) as producer:
        started, left = time.perf_counter(), (mib << 20) // (len(BODY) + 150)
        total = left * (len(BODY) + 150)
        while left > 0:
            await asyncio.gather(*(producer.send_batch([Message("bench", BODY)] * BATCH) for _ in range(4)))
            left -= 4 * BATCH
        return total / 1e6 / (time.perf_counter() - started)


def measure_catching_up(folder: Path, mib: int) -> None:
    with ExitStack() as stack:
        (server, pid), port = master(stack, folder / "full", "ASYNC_MASTER"), lasting_port(-2)
        stored = asyncio.run(fill(server.nameserver, mib))
        admin = stack.enter_context(Admin(nameserver=server.nameserver))
        end, address = log_end(admin, server.broker), f"127.0.0.1:{port}"
        costs = Costs(master=pid, slave=stack.enter_context(slave(folder / "empty", server.nameserver, port)))
        while (first := log_end(admin, address)) < end // 20:
            time.sleep(0.01)
        started = time.perf_counter()
        costs.begin()
        while (now := log_end(admin, address)) < end:
            time.sleep(0.02)
        costs.end((now - first) / (len(BODY) + 150))
        rate = (now - first) / 1e6 / (time.perf_counter() - started)
        print(
            f"catching up {end >> 20} MiB: {rate:.0f} MB/s, {rate / stored:.2f} of storing it in batches"
            f"   us a message: {costs}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--mib", type=int, default=128)
    arguments: Any = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mqframe-bench-") as name:
        measure_sends(Path(name), arguments.rounds, arguments.count)
        measure_catching_up(Path(name), arguments.mib)


if __name__ == "__main__":
    main()

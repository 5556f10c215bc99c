#!/usr/bin/env python3
"""The same Java client against a master with a slave, of Apache RocketMQ 5.3.3 and of mqframe, on loopback.

    compare_replication.py [--rounds 3] [--count 24000] [--roles ASYNC_MASTER,SYNC_MASTER]

Needs java, javac and mvn; Apache's jars come through Maven once, into ~/.cache/mqframe-bench. For each role
five brokers run at once: Apache's pair, ours, and a master of ours that is alone. Sends of 1 KiB that are
awaited, 16 and then 64 at a time, go to each in turns, so that the machine's mood hits all. A SYNC_MASTER
answers when both brokers have the message (inSyncReplicas=2). Prints every run, then the medians and the
ratios of our pair to Apache's and to the lone master (more is better). Some four minutes on 2 cores.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from compare_broker import OPENS, Servers, class_path, drive, free_ports, wait

from mqframe import Admin, MqframeError

WIDTHS = (16, 64)
PAIRS = ("apache", "mqframe", "alone")
FOLLOWS_SECONDS_MAX = 90
MEMORY = ["-Xms1g", "-Xmx2g", "-XX:MaxDirectMemorySize=2g"]
"""Of each of Apache's brokers; no more than compare_broker.py gives one."""


class Pairs(Servers):
    """Starts masters with slaves, each with a name server of its own; their addresses are returned."""

    def apache_pair(self, role: str) -> str:
        name_port, master_port = free_ports()
        address = f"127.0.0.1:{name_port}"
        home = self.work / f"apache-{role}"
        home.mkdir()
        (home / "ns.conf").write_text(f"listenPort={name_port}\nbindAddress=127.0.0.1\n")
        env = {**os.environ, "ROCKETMQ_HOME": str(home), "NAMESRV_ADDR": address}

        def run(memory: list[str], main: str, conf: str) -> subprocess.Popen[bytes]:
            java = ["java", *OPENS, *memory, f"-Duser.home={home}", "-cp", self.jars]
            return self._start([*java, f"org.apache.rocketmq.{main}", "-c", str(home / conf)], env=env)

        def broker(number: int, port: int, kind: str) -> None:
            store = home / f"store-{number}"
            (home / f"{number}.conf").write_text(
                f"brokerClusterName=DefaultCluster\nbrokerName=bench\nbrokerId={number}\nbrokerRole={kind}\n"
                f"brokerIP1=127.0.0.1\nbrokerIP2=127.0.0.1\nbindAddress=127.0.0.1\nlistenPort={port}\n"
                f"haListenPort={port + 1}\nnamesrvAddr={address}\ninSyncReplicas=2\n"
                f"storePathRootDir={store}\nstorePathCommitLog={store}/commitlog\n"
                "autoCreateTopicEnable=true\nflushDiskType=ASYNC_FLUSH\n"
            )
            wait(port, run(MEMORY, "broker.BrokerStartup", f"{number}.conf"))

        wait(name_port, run(["-Xmx512m"], "namesrv.NamesrvStartup", "ns.conf"))
        broker(0, master_port, role)
        broker(1, free_ports()[1], "SLAVE")
        until_followed(address)
        return address

    def mqframe_pair(self, role: str) -> str:
        name_port, port = free_ports()
        address, slave_port = f"127.0.0.1:{name_port}", free_ports()[1]
        home = self.work / f"mqframe-{role}"
        ours = [sys.executable, "-m", "mqframe"]
        name = ["--set", "broker.name=bench", "--set"]
        command = [*ours, "server", "--host", "127.0.0.1", "--nameserver-port", str(name_port)]
        command += ["--broker-port", str(port), "--data", str(home / "master")]
        wait(port, self._start([*command, *name, f"replication.role={role}"]))
        if role != "NONE":
            command = [*ours, "broker", "--host", "127.0.0.1", "--port", str(slave_port)]
            command += ["--nameserver", address, "--data", str(home / "slave")]
            command += [*name, "replication.role=SLAVE", "--set", "replication.id=1"]
            wait(slave_port, self._start(command))
            until_followed(address)
        return address


def until_followed(nameserver: str) -> None:
    """Wait until the master that `nameserver` knows has a slave that counts."""
    trouble, end = "no master is known", time.monotonic() + FOLLOWS_SECONDS_MAX
    with Admin(nameserver=nameserver) as admin:
        while time.monotonic() < end:
            try:
                for replica in admin.replicas.list():
                    if replica.broker_id == 0:
                        trouble = replica.trouble or "no slave follows the master"
                        if replica.in_sync:
                            return
            except MqframeError as problem:
                trouble = str(problem)
            time.sleep(0.2)
    sys.exit(f"the pair of {nameserver} is not ready: {trouble}")


def compare(jars: str, servers: dict[str, str], width: int, chosen: argparse.Namespace) -> dict[str, float]:
    """Median rates of `servers`, messages a second; 0 where a send failed in most rounds."""
    rates: dict[str, list[float]] = {who: [] for who in servers}
    for round_number in range(chosen.rounds):
        for who in list(servers)[:: 1 if round_number % 2 == 0 else -1]:
            rate, _, line = drive(
                jars, servers[who], "produce", ["sync", str(width), "1024", str(chosen.count)]
            )
            rates[who].append(rate)
            print(f"{who:8s} {line}", flush=True)
    return {who: statistics.median(each) for who, each in rates.items()}


def ratio(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other else "-"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=24_000)
    parser.add_argument("--roles", default="ASYNC_MASTER,SYNC_MASTER")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the servers are ended then, too
    jars, work = class_path(), pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    pairs = Pairs(jars, work)
    found: dict[tuple[str, int], dict[str, float]] = {}
    try:
        for role in chosen.roles.split(","):
            starts: dict[str, Callable[[], str]] = {
                "apache": lambda role=role: pairs.apache_pair(role),  # type: ignore[misc]
                "mqframe": lambda role=role: pairs.mqframe_pair(role),  # type: ignore[misc]
                "alone": lambda: pairs.mqframe_pair("NONE"),
            }
            servers = {who: starts[who]() for who in PAIRS}
            for who, address in servers.items():
                warm = drive(jars, address, "produce", ["sync", "64", "1024", str(chosen.count)])
                print(f"{who:8s} warm-up {warm[2]}", flush=True)
            for width in WIDTHS:
                found[role, width] = compare(jars, servers, width, chosen)
            pairs.stop()
            pairs.processes.clear()
            for folder in work.iterdir():
                shutil.rmtree(folder, ignore_errors=True)
        for (role, width), rates in found.items():
            shown = "  ".join(f"{who} {rates[who]:7,.0f}" for who in PAIRS)
            others = "  ".join(
                f"/ {who} {ratio(rates['mqframe'], rates[who])}" for who in ("apache", "alone")
            )
            print(f"{role:12s} {width:3} in flight, msg/s: {shown}   mqframe {others}")
    finally:
        pairs.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

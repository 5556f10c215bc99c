#!/usr/bin/env python3
"""RocketMQ's official Java client (gRPC) at mqframe's door and at Apache's proxy, in turns, on loopback.

    grpc_door.py [--rounds 5] [--modes send1,send16,push,simple] [--only mqframe] [--speedups FOLDER]

Apache's proxy runs in local mode: with its broker in one process. All servers run at once; what is printed,
and the third server of `--speedups`, are as in compare_broker.py, but for the client's processor time for a
message in the place of p99: with the server's it bounds rates. Last what memory the servers have taken.
Needs java, javac and mvn.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial

from compare_broker import (
    CACHE,
    OPENS,
    Servers,
    children_seconds,
    compare,
    environment,
    free_ports,
    take_speedups,
    tell,
    used,
    wait,
)  # fmt: skip

HERE = pathlib.Path(__file__).resolve().parent
PROXY = HERE.parent / "tests/interop/grpc/java/proxy"
TOPIC = "GrpcBench"
COUNTS = {"send1": 8_000, "send16": 30_000, "push": 30_000, "simple": 20_000}


def built(name: str, folder: pathlib.Path) -> str:
    """The class path of the Java programs in `folder`."""
    home = CACHE / name
    if not (home / "lib").is_dir():
        command = ["mvn", "-q", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={home}/lib"], check=True)
    (home / "classes").mkdir(parents=True, exist_ok=True)
    sources = [str(path) for path in sorted(folder.glob("*.java"))]
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{home}/lib/*", "-d", str(home / "classes"), *sources], check=True
    )
    return f"{home}/classes:{home}/lib/*"


class Doors(Servers):
    """Starts doors."""

    def proxy(self) -> tuple[str, str]:
        """Apache's: where clients go, and its name server."""
        home = self.work / "apache"
        home.mkdir()
        jars = built("grpc-proxy", PROXY)
        name_port, broker_port = free_ports()
        (door_port, _), address = free_ports(), f"127.0.0.1:{name_port}"
        (home / "ns.conf").write_text(f"listenPort={name_port}\nbindAddress=127.0.0.1\n")
        (home / "broker.conf").write_text(
            f"brokerClusterName=DefaultCluster\nbrokerName=broker-a\nbrokerId=0\nbrokerIP1=127.0.0.1\n"
            f"bindAddress=127.0.0.1\nlistenPort={broker_port}\nnamesrvAddr={address}\n"
            f"storePathRootDir={home}/store\nstorePathCommitLog={home}/store/commitlog\n"
        )
        (home / "rmq-proxy.json").write_text(
            json.dumps({"rocketMQClusterName": "DefaultCluster", "grpcServerPort": door_port})
        )
        env = {**os.environ, "ROCKETMQ_HOME": str(home), "NAMESRV_ADDR": address}

        def run(memory: list[str], main: str, conf: str) -> subprocess.Popen[bytes]:
            command = ["java", *OPENS, *memory, f"-Duser.home={home}", "-cp", jars, main, "-c", conf]
            return self._start(command, env=env)

        names = run(["-Xmx512m"], "org.apache.rocketmq.namesrv.NamesrvStartup", str(home / "ns.conf"))
        wait(name_port, names)
        server = run(["-Xmx2g", "-XX:MaxDirectMemorySize=2g"], "LoopbackProxy", str(home / "broker.conf"))
        wait(broker_port, server)
        wait(door_port, server)
        self.brokers["apache"] = server.pid
        return f"127.0.0.1:{door_port}", address

    def door(self, speedups: str = "") -> tuple[str, str]:
        """mqframe's: where clients go, and its name server. `speedups`: the folder with the compiled code."""
        who = "speedups" if speedups else "mqframe"
        name_port, broker_port = free_ports()
        door_port, _ = free_ports()
        command = [sys.executable, "-m", "mqframe", "server", "--host", "127.0.0.1"]
        command += ["--nameserver-port", str(name_port), "--broker-port", str(broker_port)]
        command += ["--data", str(self.work / who), "--set", "broker.services=grpc"]
        command += ["--set", f"plugins.grpc.port={door_port}"]
        process = self._start(command, env=environment(speedups))
        for port in (name_port, broker_port, door_port):
            wait(port, process)
        self.brokers[who] = process.pid
        return f"127.0.0.1:{door_port}", f"127.0.0.1:{name_port}"

    def processor_seconds(self, who: str) -> float:
        """What the server has used so far, with all processes that it started."""
        return sum(used(pid) for pid in family(self.brokers[who]))

    def memory_mb(self, who: str) -> float:
        """What the server has in memory."""
        pages = 0
        for pid in family(self.brokers[who]):
            pages += int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6


def family(pid: int) -> list[int]:
    """A process and those that it started."""
    found = [pid]
    for each in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(each.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid:
            found += family(int(each.parent.name))
    return found


def run(jars: str, mode: str, count: int, endpoint: str, _: int = 0) -> tuple[float, float, str]:
    """Messages a second, 0 when some failed, the client's processor time for one (us), what it printed."""
    group = f"g-{time.time_ns()}"
    rest = {
        "send1": ["send", endpoint, TOPIC, "1", "100", str(count)],
        "send16": ["send", endpoint, TOPIC, "16", "100", str(count)],
        "push": ["push", endpoint, TOPIC, group, str(count)],
        "simple": ["simple", endpoint, TOPIC, group, "4", str(count)],
    }[mode]
    command = ["java", "-Drocketmq.log.level=WARN", "-cp", jars, "GrpcBench", *rest]
    before = children_seconds()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    spent = children_seconds() - before
    line = next((x for x in done.stdout.splitlines() if " msg/s" in x), (done.stdout + done.stderr)[-400:])
    rate = re.search(r"(\d+) msg/s", line)
    if not rate or not re.search(r"fail=0\b", line):
        return 0.0, 0.0, line
    return float(rate[1]), spent * 1e6 / count, line


def create_topic(nameserver: str) -> None:
    """The topic, with 8 queues, at whichever server this is, once its broker is registered."""
    from mqframe import Admin

    with Admin(nameserver=nameserver) as admin:
        for _ in range(60):
            if admin.cluster.info().broker_addr_table:
                break
            time.sleep(0.5)
        admin.topics.create(TOPIC, queues=8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--modes", default=",".join(COUNTS))
    parser.add_argument("--only", choices=("apache", "mqframe"))
    take_speedups(parser)
    parser.add_argument("--part", type=float, default=1.0, help="of the usual number of messages")
    arguments = parser.parse_args()
    jars = built("grpc-client", HERE / "grpc")
    work = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    doors = Doors("", work)
    try:
        pair = {}
        if arguments.only != "mqframe":
            pair["apache"] = doors.proxy()
        if arguments.only != "apache":
            pair["mqframe"] = doors.door()
        if arguments.speedups:
            pair["speedups"] = doors.door(arguments.speedups)
        for who, (endpoint, nameserver) in pair.items():
            create_topic(nameserver)
            time.sleep(1)
            warm = run(jars, "send16", round(40_000 * arguments.part), endpoint)
            print(f"{who:8s} warm-up {warm[2]}", flush=True)
        table, doors_of = {}, {who: endpoint for who, (endpoint, _) in pair.items()}
        for mode in arguments.modes.split(","):
            count = round(COUNTS[mode] * arguments.part)
            table[mode] = compare(doors, doors_of, arguments.rounds, partial(run, jars, mode, count))
        tell(table, "client {:.1f} us")
        print("memory, MB: ", {who: round(doors.memory_mb(who)) for who in pair})
    finally:
        doors.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

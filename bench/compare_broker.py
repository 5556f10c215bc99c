#!/usr/bin/env python3
"""The same Java client against Apache RocketMQ and against mqframe, in turns, on loopback.

    compare_broker.py [--rounds 3] [--modes sync1,sync16,async,batch,consume,flush64] [--speedups FOLDER]

Needs java, javac and mvn; Apache's jars come through Maven once, into ~/.cache/mqframe-bench. All servers
run at the same time and are measured in turns, so that the machine's mood hits all. Prints every run, then
for each mode the medians: rates, processor time of the server for a message (us), p99 (ms), with the ratios
to Apache's (more is better), then one JSON line. `--speedups`: a third server is mqframe with the compiled
code that lies in that folder. `flush64` runs against servers of its own, which flush before they answer
(SYNC_FLUSH).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

Row = dict[str, tuple[float, float, float]]
"""For each server the medians: messages a second, processor time for one (us), p99 (ms)."""
HERE = pathlib.Path(__file__).resolve().parent
BATCHED = 1_000_000
CONSUMED = 3 * BATCHED
"""So many that a client's Java is compiled for most of the time."""
CACHE = pathlib.Path.home() / ".cache" / "mqframe-bench"
MODES = {  # name: arguments of the Java program, after name server and topic
    "sync1": ["produce", "sync", "1", "100", "20000"],
    "sync16": ["produce", "sync", "16", "100", "100000"],
    "sync16_1k": ["produce", "sync", "16", "1024", "60000"],
    "async": ["produce", "async", "2", "100", "200000"],
    "batch": ["produce", "batch", "2", "100", str(BATCHED)],
    "consume": ["consume", str(CONSUMED), "4"],
    "flush64": ["produce", "sync", "64", "100", "60000"],
}
OPENS = [
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
]


def class_path() -> str:
    lib, classes = CACHE / "lib", CACHE / "classes"
    if not lib.is_dir():
        command = ["mvn", "-q", "-f", str(HERE / "java/pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={lib}"], check=True)
    classes.mkdir(parents=True, exist_ok=True)
    sources = [str(path) for path in sorted((HERE / "java").glob("*.java"))]
    subprocess.run(["javac", "-nowarn", "-cp", f"{lib}/*", "-d", str(classes), *sources], check=True)
    return f"{classes}:{lib}/*"


def free_ports() -> tuple[int, int]:
    """A port for a name server and one for a broker, which also takes the ports two below and one above.

    Below the range from which the system gives ports to clients, so that none is taken meanwhile.
    """
    for base in random.sample(range(20_000, 30_000, 10), 100):
        try:
            for port in (base, base + 3, base + 5, base + 6):
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return base, base + 5
    sys.exit("no free ports")


def wait(port: int, process: subprocess.Popen[bytes], limit: float = 60) -> None:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"a server stopped at start: {process.args!r}"[:300])
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing answers on port {port}")


class Servers:
    """Starts name servers with brokers and ends what it started."""

    def __init__(self, jars: str, work: pathlib.Path) -> None:
        self.jars = jars
        self.work = work
        self.processes: list[subprocess.Popen[bytes]] = []
        self.brokers: dict[str, int] = {}
        """The process of each broker, by whose it is."""

    def _start(self, command: list[str], **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **options
        )  # type: ignore[call-overload]
        self.processes.append(process)
        return process  # type: ignore[no-any-return]

    def apache(self, flush: str) -> str:
        home = self.work / f"apache-{flush}"
        home.mkdir()
        name_port, broker_port = free_ports()
        address = f"127.0.0.1:{name_port}"
        (home / "ns.conf").write_text(f"listenPort={name_port}\nbindAddress=127.0.0.1\n")
        (home / "broker.conf").write_text(
            f"brokerClusterName=DefaultCluster\nbrokerName=broker-a\nbrokerId=0\nbrokerIP1=127.0.0.1\n"
            f"bindAddress=127.0.0.1\nlistenPort={broker_port}\nnamesrvAddr={address}\n"
            f"storePathRootDir={home}/store\nstorePathCommitLog={home}/store/commitlog\n"
            f"autoCreateTopicEnable=true\nflushDiskType={flush}\nenablePropertyFilter=true\n"
        )
        env = {**os.environ, "ROCKETMQ_HOME": str(home), "NAMESRV_ADDR": address}

        def run(memory: list[str], main: str, conf: str) -> subprocess.Popen[bytes]:
            command = ["java", *OPENS, *memory, f"-Duser.home={home}", "-cp", self.jars, main, "-c", conf]
            return self._start(command, env=env)

        names = run(["-Xmx512m"], "org.apache.rocketmq.namesrv.NamesrvStartup", str(home / "ns.conf"))
        wait(name_port, names)
        memory = ["-Xmx2g", "-XX:MaxDirectMemorySize=2g"]
        broker = run(memory, "org.apache.rocketmq.broker.BrokerStartup", str(home / "broker.conf"))
        wait(broker_port, broker)
        self.brokers["apache"] = broker.pid
        time.sleep(3)
        return address

    def mqframe(self, flush: str, speedups: str = "") -> str:
        who = "speedups" if speedups else "mqframe"
        name_port, broker_port = free_ports()
        command = [sys.executable, "-m", "mqframe", "server", "--host", "127.0.0.1"]
        command += ["--nameserver-port", str(name_port), "--broker-port", str(broker_port)]
        command += ["--data", str(self.work / f"{who}-{flush}")]
        command += ["--set", f"store.flush={flush}"]
        process = self._start(command, env=environment(speedups))
        self.brokers[who] = process.pid
        wait(name_port, process)
        wait(broker_port, process)
        time.sleep(1)
        return f"127.0.0.1:{name_port}"

    def processor_seconds(self, who: str) -> float:
        """What a broker has used until now."""
        return used(self.brokers[who])

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def environment(speedups: str) -> dict[str, str]:
    """That of a server with the compiled code in this folder, or without any."""
    return {**os.environ, **({"PYTHONPATH": speedups} if speedups else {"MQFRAME_SPEEDUPS": "0"})}


def used(pid: int) -> float:
    """Processor seconds of a process until now."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds() -> float:
    """Processor seconds of programs that were waited for until now: servers run on."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def measure(jars: str, mode: str, nameserver: str, round_number: int) -> tuple[float, float, str]:
    """Messages a second (0 when any failed), p99 in ms, and the line that the Java program printed."""
    what, *rest = MODES[mode]
    group = [f"g{round_number}_{time.time_ns()}"] if what == "consume" else []
    return drive(jars, nameserver, what, [*group, *rest])


def drive(jars: str, nameserver: str, what: str, rest: list[str]) -> tuple[float, float, str]:
    """As `measure`, with words for the Java program: `what` before name server and topic, `rest` after."""
    command = ["java", "-Drocketmq.client.logLevel=ERROR", "-cp", jars]
    command += ["Bench", what, nameserver, "BenchTopic", *rest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    line = next((x for x in done.stdout.splitlines() if " msg/s" in x), (done.stdout + done.stderr)[-300:])
    rate = re.search(r"(\d+) msg/s", line)
    p99 = re.search(r"p99=([\d.]+)ms", line)
    bad = not rate or "INCOMPLETE" in line or re.search(r"fail=[1-9]", line)
    return (0.0 if bad else float(rate[1])), float(p99[1]) if p99 else 0.0, line  # type: ignore[index]


def take_speedups(parser: argparse.ArgumentParser) -> None:
    """Have `parser` take the option that all comparisons have."""

    def whole(folder: str) -> str:
        return str(pathlib.Path(folder).resolve())

    parser.add_argument("--speedups", type=whole, help="the folder with the compiled code")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    take_speedups(parser)
    parser.add_argument("--busy", type=int, default=0, help="so many processes take what processor they get")
    arguments = parser.parse_args()
    modes = arguments.modes.split(",")
    jars, work = class_path(), pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    servers = Servers(jars, work)
    table = {}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.busy)]
    try:
        for flush in ("ASYNC_FLUSH", "SYNC_FLUSH"):
            wanted = [m for m in modes if (m == "flush64") == (flush == "SYNC_FLUSH")]
            if not wanted:
                continue
            pair = {"apache": servers.apache(flush), "mqframe": servers.mqframe(flush)}
            if arguments.speedups:
                pair["speedups"] = servers.mqframe(flush, arguments.speedups)
            warm = "batch" if flush == "ASYNC_FLUSH" else "flush64"
            # Warms all, and fills the topic that `consume` reads.
            for who, address in list(pair.items()) * (CONSUMED // BATCHED if "consume" in wanted else 1):
                print(f"{who:8s} warm-up {measure(jars, warm, address, 0)[2]}", flush=True)
            for mode in wanted:
                table[mode] = compare(servers, pair, arguments.rounds, partial(measure, jars, mode))
            servers.stop()
            servers.processes.clear()
        tell(table)
    finally:
        for process in busy:
            process.kill()
            process.wait()
        servers.stop()
        shutil.rmtree(work, ignore_errors=True)


def compare(
    servers: Servers,
    pair: dict[str, str],
    rounds: int,
    run: Callable[[str, int], tuple[float, float, str]],
) -> Row:
    """`run`, given the address of a name server and the number of a round, in turns for each of `pair`."""
    found: dict[str, list[tuple[float, float, float]]] = {who: [] for who in pair}
    for round_number in range(rounds):
        for who in list(pair)[:: 1 if round_number % 2 == 0 else -1]:
            before = servers.processor_seconds(who)
            rate, p99, line = run(pair[who], round_number)
            spent = servers.processor_seconds(who) - before
            count = re.search(r" n=(\d+)", line)
            cost = spent * 1e6 / int(count[1]) if count else 0.0
            found[who].append((rate, cost, p99))
            print(f"{who:8s} {line}  {cost:.1f} us", flush=True)
    return {who: tuple(map(statistics.median, zip(*rows, strict=True))) for who, rows in found.items()}  # type: ignore[misc]


def tell(table: dict[str, Row], third: str = "p99 {:.2f} ms") -> None:
    """Print a table of rows by mode, with ratios to Apache's, then as JSON. `third`: shows the last."""
    for mode, row in table.items():
        apache = row.get("apache")
        for who, (rate, cost, last) in row.items():
            text = f"{mode:11s} {who:8s} {rate:9.0f} msg/s  {cost:6.1f} us  {third.format(last)}"
            if apache and who != "apache" and rate and cost:
                text += f"   rate {rate / apache[0]:.2f}  processor {apache[1] / cost:.2f}"
            print(text)
    print(json.dumps(table))


if __name__ == "__main__":
    main()

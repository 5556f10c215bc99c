#!/usr/bin/env python3
"""Every further way of delivering, by the same Java client against Apache RocketMQ and mqframe, in turns.

    compare_ways.py [--rounds 3] [--modes orderly,pop,sql,tag,transaction,delay,request1,request16]
                    [--speedups FOLDER]

What is measured is told in java/Ways.java. All servers run at once; what is printed, and the third server
of `--speedups`, are as in compare_broker.py.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
from functools import partial

from compare_broker import Servers, class_path, compare, take_speedups, tell

FILLED = 1_600_000
"""So many that both brokers, and a client's Java, are compiled for most of the time."""
POPPED = 200_000
MODES = {  # name: mode of the Java program and its arguments after name server, topic and, to consume, group
    "orderly": ("orderly", [str(FILLED)]),
    "pop": ("pop", [str(POPPED)]),
    "sql": ("sql", [str(FILLED)]),
    "tag": ("tag", [str(FILLED)]),
    "transaction": ("transaction", ["16", "30000"]),
    "delay": ("delay", ["16", "60000"]),
    "request1": ("request", ["1", "3000"]),
    "request16": ("request", ["16", "20000"]),
}
CONSUMING = ("orderly", "pop", "sql", "tag")


def run(jars: str, nameserver: str, mode: str, arguments: list[str], topic: str) -> tuple[float, float, str]:
    """Messages a second (0 when any failed), p99 in ms, and the line that the Java program printed."""
    command = ["java", "-Drocketmq.client.logLevel=ERROR", "-cp", jars, "Ways", mode, nameserver, topic]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=400)
    line = next((x for x in done.stdout.splitlines() if " msg/s" in x), (done.stdout + done.stderr)[-600:])
    rate = re.search(r"(\d+) msg/s", line)
    p99 = re.search(r"p99=([\d.]+)ms", line)
    bad = not rate or "INCOMPLETE" in line or re.search(r"fail=[1-9]", line)
    return (0.0 if bad else float(rate[1])), float(p99[1]) if p99 else 0.0, line  # type: ignore[index]


def measure(jars: str, name: str, nameserver: str, round_number: int) -> tuple[float, float, str]:
    mode, rest = MODES[name]
    if mode not in CONSUMING:
        return run(jars, nameserver, mode, rest, f"Ways_{name}_{round_number}")
    group = f"g_{name}_{round_number}_{time.time_ns()}"
    return run(jars, nameserver, mode, [group, *rest], "WaysPop" if mode == "pop" else "WaysFilled")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--only", choices=("apache", "mqframe"), help="measure one of the two")
    take_speedups(parser)
    arguments = parser.parse_args()
    names = arguments.modes.split(",")
    jars, work = class_path(), pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    servers = Servers(jars, work)
    try:
        starts = {"apache": servers.apache, "mqframe": servers.mqframe}
        pair = {who: start("ASYNC_FLUSH") for who, start in starts.items() if arguments.only in (None, who)}
        if arguments.speedups:
            pair["speedups"] = servers.mqframe("ASYNC_FLUSH", arguments.speedups)
        if {MODES[name][0] for name in names} & set(CONSUMING):
            for who, address in pair.items():
                for topic, count in (("WaysFilled", FILLED), ("WaysPop", POPPED)):
                    print(f"{who:8s} {run(jars, address, 'fill', [str(count)], topic)[2]}", flush=True)
        tell({name: compare(servers, pair, arguments.rounds, partial(measure, jars, name)) for name in names})
    finally:
        servers.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

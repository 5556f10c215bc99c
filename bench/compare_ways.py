#!/usr/bin/env python3
"""Every further way of delivering, by the same Java client against Apache RocketMQ and mqframe, in turns.

    compare_ways.py [--rounds 3] [--modes orderly,pop,sql,tag,transaction,delay,request1,request16]

What is measured is told in java/Ways.java. Both servers run at once, as in compare_broker.py. Prints every
run, then for each mode both medians, the ratio mqframe / Apache (more is better), both p99; then JSON.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from compare_broker import Servers, class_path

FILLED = 400_000
MODES = {  # name: mode of the Java program and its arguments after name server, topic and, to consume, group
    "orderly": ("orderly", [str(FILLED)]),
    "pop": ("pop", [str(FILLED // 2)]),
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


def measure(jars: str, nameserver: str, name: str, round_number: int) -> tuple[float, float, str]:
    mode, rest = MODES[name]
    if mode not in CONSUMING:
        return run(jars, nameserver, mode, rest, f"Ways_{name}_{round_number}")
    group = f"g_{name}_{round_number}_{time.time_ns()}"
    return run(jars, nameserver, mode, [group, *rest], "WaysPop" if mode == "pop" else "WaysFilled")


def compare(jars: str, pair: dict[str, str], name: str, rounds: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {who: [] for who in pair}
    tails: dict[str, list[float]] = {who: [] for who in pair}
    for round_number in range(rounds):
        for who in list(pair)[:: 1 if round_number % 2 == 0 else -1]:
            rate, p99, line = measure(jars, pair[who], name, round_number)
            rates[who].append(rate)
            tails[who].append(p99)
            print(f"{who:8s} {name:11s} {line}", flush=True)
    medians = {who: statistics.median(rates[who]) for who in pair}
    row = {f"{who}_p99": statistics.median(tails[who]) for who in pair} | medians
    both = medians.get("apache") and medians.get("mqframe")
    return row | {"ratio": round(medians["mqframe"] / medians["apache"], 2) if both else 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--only", choices=("apache", "mqframe"), help="measure one of the two")
    arguments = parser.parse_args()
    names = arguments.modes.split(",")
    jars, work = class_path(), pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    servers = Servers(jars, work)
    try:
        starts = {"apache": servers.apache, "mqframe": servers.mqframe}
        pair = {who: start("ASYNC_FLUSH") for who, start in starts.items() if arguments.only in (None, who)}
        if {MODES[name][0] for name in names} & set(CONSUMING):
            for who, address in pair.items():
                for topic, count in (("WaysFilled", FILLED), ("WaysPop", FILLED // 2)):
                    print(f"{who:8s} {run(jars, address, 'fill', [str(count)], topic)[2]}", flush=True)
        table = {name: compare(jars, pair, name, arguments.rounds) for name in names}
        for name, row in table.items():
            told = "  ".join(f"{who} {row[who]:9.0f} (p99 {row[f'{who}_p99']:.2f} ms)" for who in pair)
            print(f"{name:12s} {told}  ratio {row['ratio']:5.2f}")
        print(json.dumps(table))
    finally:
        servers.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

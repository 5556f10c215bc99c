#!/usr/bin/env python3
"""How fast Spark writes topics.

    spark_write.py [--count 2000000] [--ways once,keyed,exact] [--rounds 3] [--nameserver HOST:PORT]

Messages of 100 B with a tag, made by `spark.range`, 8 queues, local[2], in batch. `once`: at least once;
`keyed`: the same with a sharding key of 1,000 values; `exact`: with exactlyOnce. Each way has a topic of its
own, and all of it is counted at the end. Without `--nameserver` a `mqframe server` is started beside.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from mqframe import Admin, Puller

QUEUES = 8
COLUMNS = ("cast(repeat('x', 100) as binary) as body", "'paid' as tags")
WAYS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "once": (COLUMNS, {}),
    "keyed": ((*COLUMNS, "concat('customer-', id % 1000) as sharding_key"), {}),
    "exact": (COLUMNS, {"exactlyOnce": "true"}),
}


@contextlib.contextmanager
def server(data: pathlib.Path) -> Iterator[str]:
    """The name server's address of a server that runs meanwhile."""
    command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    command += ["--set", "store.disk_limits=false", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield re.findall(r"nameserver=(\S+)", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait(60)


def stored(nameserver: str, topic: str) -> int:
    """How many messages `topic` holds."""
    with Puller(nameserver=nameserver) as puller:
        return sum(puller.max_offset(queue) - puller.min_offset(queue) for queue in puller.queues(topic))


def measure(spark: Any, nameserver: str, way: str, count: int, rounds: int, work: pathlib.Path) -> None:
    columns, options = WAYS[way]
    if way == "exact":
        options = {**options, "commitPath": str(work / "commits")}
    topic = f"bench-{way}"
    with Admin(nameserver=nameserver) as admin:
        admin.topics.create(topic, queues=QUEUES)
    rates = []
    for number in range(rounds):
        started = time.perf_counter()
        frame = spark.range(0, count, 1, 2).selectExpr(*columns)
        frame.write.format("mqframe").mode("append").options(
            nameserver=nameserver, topic=topic, **options
        ).save()
        rates.append(count / (time.perf_counter() - started))
        found, expected = stored(nameserver, topic), count * (number + 1)
        assert found == expected or (found > expected and way != "exact"), f"{found} messages are there"
        if found > expected:
            print(f"{way:6s} {found - expected} messages came twice", flush=True)
    print(f"{way:6s} " + "  ".join(f"{rate:9.0f}" for rate in rates) + " msg/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2_000_000)
    parser.add_argument("--ways", default="once,keyed,exact")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nameserver", default="")
    arguments = parser.parse_args()
    from mqframe_spark import local_session

    work = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    try:
        with contextlib.ExitStack() as stack:
            nameserver = arguments.nameserver or stack.enter_context(server(work / "data"))
            spark = local_session("bench", master="local[2]", log_level="OFF")
            stack.callback(spark.stop)
            for way in arguments.ways.split(","):
                measure(spark, nameserver, way, arguments.count, arguments.rounds, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

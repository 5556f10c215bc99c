#!/usr/bin/env python3
"""How fast Spark reads topics: from store files, through a broker, and with its own connector from Kafka.

    spark_read.py [--count 5000000] [--parts files,broker,kafka] [--data uniform,varying] [--session plain]

Messages of both sets of spark_data.py with what a broker adds, 8 queues, local[2], in batch three times (the
first is cold) and once as a stream (availableNow, 1 M a trigger, noop sink). Part broker also sends 200
messages a second to the broker while Spark pulls from it as fast as it can, and tells how long they took.
Part kafka is spark_kafka.py. `--session plain`: a session of `SparkSession.builder` without any settings for
the source, in place of `local_session`. The table at the end has the better of the two warm batches.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import spark_kafka
from compare_broker import free_ports
from spark_data import QUEUES, TOPIC, fill

HERE = pathlib.Path(__file__).resolve().parent
WHOLE = "ids, offsets, times, bodies"
SETS = {  # what is asked for: columns, and what is computed of them, so that all are looked at
    WHOLE: (
        "queue_id,queue_offset,msg_id,body,born_timestamp,store_timestamp",
        "count(*), sum(length(body)), sum(octet_length(msg_id)), max(queue_offset), max(store_timestamp)",
    ),
    "offsets, times": ("queue_offset,store_timestamp", "count(*), max(queue_offset), max(store_timestamp)"),
    "with tags, keys, properties": (
        "queue_offset,msg_id,tags,keys,properties,body,store_timestamp",
        "count(*), sum(length(body)), sum(octet_length(tags)), sum(octet_length(keys)), "
        "sum(size(properties))",
    ),
}

RATES: dict[tuple[str, str], float] = {}
"""Messages a second by (part, what was read)."""


def batches(spark: Any, options: dict[str, str], count: int, name: str) -> None:
    for what, (columns, wanted) in SETS.items():
        rates = []
        for _ in range(3):
            started = time.perf_counter()
            frame = spark.read.format("mqframe").options(**options, columns=columns).load()
            row = frame.selectExpr(*wanted.split(", ")).collect()[0]
            rates.append(count / (time.perf_counter() - started))
            assert row[0] == count, row
        RATES[name, f"batch, {what}"] = max(rates[1:])
        told = "  ".join(f"{rate:9.0f}" for rate in rates)
        print(f"{name} batch, {what:28s} {told} msg/s", flush=True)


def stream(spark: Any, options: dict[str, str], count: int, name: str, work: pathlib.Path) -> None:
    columns = SETS[WHOLE][0]
    rates, steady = [], []
    for number in range(3):
        frame = spark.readStream.format("mqframe").options(**options, columns=columns)
        frame = frame.option("maxOffsetsPerTrigger", "1000000").load()
        started = time.perf_counter()
        query = (
            frame.writeStream.format("noop")
            .trigger(availableNow=True)
            .option("checkpointLocation", str(work / f"checkpoint-{name}-{number}"))
            .start()
        )
        query.awaitTermination()
        rates.append(count / (time.perf_counter() - started))
        progress = [(each.numInputRows, each.durationMs["triggerExecution"]) for each in query.recentProgress]
        assert sum(rows for rows, _ in progress) == count, progress
        steady.append(spark_kafka.steady_rate(progress))
    RATES[name, f"stream, {WHOLE}"] = max(rates[1:])
    RATES[name, "the same without its start"] = max(steady[1:])
    told = "  ".join(f"{rate:9.0f}" for rate in (*rates, *steady))
    print(f"{name} stream, {WHOLE}; without the start {told} msg/s", flush=True)


def session(kind: str) -> Any:
    if kind == "plain":
        from mqframe_spark.java import prepare_java
        from pyspark.sql import SparkSession

        prepare_java()
        os.environ["PYSPARK_PYTHON"], os.environ["SPARK_LOCAL_IP"] = sys.executable, "127.0.0.1"
        spark = SparkSession.builder.master("local[2]").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        return spark
    from mqframe_spark import local_session

    return local_session("bench", master="local[2]", log_level="OFF")


def files(work: pathlib.Path, count: int, kind: str) -> None:
    spark = session(kind)
    options = {"mode": "files", "path": str(work / "store"), "topic": TOPIC}
    batches(spark, options, count, "files")
    stream(spark, options, count, "files", work)


def broker(work: pathlib.Path, count: int, kind: str) -> None:
    name_port, broker_port = free_ports()
    nameserver = f"127.0.0.1:{name_port}"
    command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", str(name_port)]
    command += ["--broker-port", str(broker_port)]
    server = subprocess.Popen([*command, "--data", str(work)], stdout=subprocess.PIPE)
    try:
        assert server.stdout
        server.stdout.readline()
        create = ["topic", "create", TOPIC, "--queues", str(QUEUES), "--nameserver", nameserver]
        subprocess.run([sys.executable, "-m", "mqframe", *create], check=True, stdout=subprocess.DEVNULL)
        spark = session(kind)
        options = {"nameserver": nameserver, "topic": TOPIC}
        batches(spark, options, count, "broker")
        responsiveness(spark, options, count)
        stream(spark, options, count, "broker", work)
    finally:
        server.terminate()
        server.wait(30)


def responsiveness(spark: Any, options: dict[str, str], count: int) -> None:
    """How long sends take, first alone, then while both tasks pull."""
    columns, wanted = SETS[WHOLE]
    frame = spark.read.format("mqframe").options(**options, columns=columns).load()

    def read() -> None:
        seconds = time.perf_counter() + 5
        while time.perf_counter() < seconds:
            assert frame.selectExpr(*wanted.split(", ")).collect()[0][0] == count

    for what, work in (("alone", lambda: time.sleep(5)), ("while Spark pulls", read)):
        command = [sys.executable, str(HERE / "steady_sends.py"), options["nameserver"], "steady"]
        sender = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert sender.stdout
        sender.stdout.readline()
        work()
        told = json.loads(sender.communicate()[0])
        print(
            f"{told['sends']} sends {what}: p50 {told['p50']} ms  p99 {told['p99']} ms  max {told['max']} ms",
            flush=True,
        )


def kafka(count: int, data: str) -> None:
    for what, rates in spark_kafka.measure(count, data).items():
        row = "the same without its start" if what == "steady" else f"{what}, {WHOLE}"
        RATES["kafka", row] = max(rates[1:])
        print(f"kafka {what:6s} {'  '.join(f'{rate:9.0f}' for rate in rates)} msg/s", flush=True)


def table(parts: list[str]) -> None:
    """What was measured side by side, with ratios to Kafka's connector."""
    compared = "  ".join(f"{part}/kafka" for part in parts if part != "kafka" and "kafka" in parts)
    print(f"{'msg/s':40s}" + "".join(f"{part:>12s}" for part in parts) + f"   {compared}")
    for what in dict.fromkeys(what for _, what in RATES):
        found = {part: RATES.get((part, what)) for part in parts}
        own = [rate for part, rate in found.items() if rate is not None and part != "kafka"]
        base = found.get("kafka")
        ratios = "  ".join(f"{rate / base:11.2f}" for rate in own) if base else ""
        cells = "".join(f"{rate:12.0f}" if rate is not None else f"{'':12s}" for rate in found.values())
        print(f"{what:40s}{cells}   {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5_000_000)
    parser.add_argument("--parts", default="files,broker,kafka")
    parser.add_argument("--data", default="uniform,varying")
    parser.add_argument("--session", choices=("local", "plain"), default="local")
    arguments = parser.parse_args()
    for data in arguments.data.split(","):
        print(f"{data} messages", flush=True)
        RATES.clear()
        measure(arguments.count, arguments.parts.split(","), data, arguments.session)


def measure(count: int, chosen: list[str], data: str, kind: str) -> None:
    parts: dict[str, Callable[[pathlib.Path, int, str], None]] = {"files": files, "broker": broker}
    work = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    try:
        if set(chosen) & set(parts):
            asyncio.run(fill(work / "store", count, data))
        for name in chosen:
            if name == "kafka":
                if RATES:
                    session(kind).stop()  # Kafka's comes with a Spark of its own
                kafka(count, data)
            else:
                parts[name](work, count, kind)
        table(chosen)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

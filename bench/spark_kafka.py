#!/usr/bin/env python3
"""How fast Spark's own Kafka connector reads: the measure that spark_read.py compares with.

    spark_kafka.py [--count 5000000] [--data uniform,varying]

One Kafka 4.1 broker on loopback (jars through Maven, once, into ~/.cache/mqframe-bench), a topic of 8
partitions with the messages of spark_data.py (tags and properties as headers), and PySpark 4.0.0, the newest
for which all jars of the connector are to be had: in batch and then as a stream (availableNow, 1 M a trigger,
noop sink), three times each, the first cold. Needs java, mvn and uv; PySpark and the Kafka client come
through `uv run --with`, into no environment of yours.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice

HERE = pathlib.Path(__file__).resolve()
CACHE = pathlib.Path.home() / ".cache" / "mqframe-bench"
PARTITIONS = 8
TOPIC = "sparkbench"
PYSPARK = "4.0.0"
CONNECTOR = (
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{PYSPARK}",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{PYSPARK}",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.0",
)
BROKER_CONF = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={work}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""


def jars() -> tuple[pathlib.Path, pathlib.Path]:
    """Folders with the jars of the broker and of the connector, fetched once."""
    broker, connector = CACHE / "kafka", CACHE / f"spark-kafka-{PYSPARK}"
    quiet = ["mvn", "-q", "-B"]
    if not (broker / "complete").exists():
        command = [*quiet, "-f", str(HERE.parent / "kafka/pom.xml"), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={broker}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (broker / "complete").touch()
    if not (connector / "complete").exists():
        for artifact in CONNECTOR:
            command = [*quiet, "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={connector}"]
            subprocess.run(command, check=True, cwd=CACHE, stdout=subprocess.DEVNULL)
        (connector / "complete").touch()
    return broker, connector


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def start_broker(lib: pathlib.Path, work: pathlib.Path) -> tuple[subprocess.Popen[bytes], str]:
    """A broker that answers, and its address."""
    port = free_port()
    conf = work / "server.properties"
    conf.write_text(BROKER_CONF.format(work=work, port=port, controller=free_port()))
    java = ["java", "-Xmx1g", "-cp", f"{lib}/*"]
    format_it = [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(conf)]
    subprocess.run(format_it, check=True, capture_output=True)
    process = subprocess.Popen(
        [*java, "kafka.Kafka", str(conf)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            time.sleep(2)  # it listens before it has elected itself
            return process, f"127.0.0.1:{port}"
        except OSError:
            time.sleep(0.2)
    process.kill()
    sys.exit("Kafka did not start")


def with_packages(packages: Sequence[str], *arguments: str) -> list[str]:
    """A command that runs this file where `packages` are installed."""
    wanted = [word for package in packages for word in ("--with", package)]
    return ["uv", "run", "--no-project", *wanted, "python", str(HERE), *arguments]


def fill(address: str, count: int, lines: pathlib.Path) -> None:
    """Runs where the Kafka client is installed; `lines` are what `DataSet.write_lines` wrote."""
    from confluent_kafka import Producer  # type: ignore[import-not-found,unused-ignore]
    from confluent_kafka.admin import (  # type: ignore[import-not-found,unused-ignore]
        AdminClient,
        NewTopic,
    )

    with lines.open() as read:
        key, *events = map(json.loads, read)
    source = cycle([(body, list(headers.items())) for body, headers in events])
    where = {"bootstrap.servers": address}
    admin = AdminClient(where)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    producer = Producer({**where, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number, (body, headers) in enumerate(islice(source, count)):
        while True:
            try:
                producer.produce(TOPIC, body, key.format(number), number % PARTITIONS, headers=headers)
            except BufferError:
                producer.poll(0.05)
            else:
                break
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()


def read(address: str, count: int, jar_list: str, work: str) -> None:
    """Runs where the connector's PySpark is installed; the last line that it prints is JSON."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.jars", jar_list)
    for key, value in {
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    options = {"kafka.bootstrap.servers": address, "subscribe": TOPIC, "startingOffsets": "earliest"}
    rates = []
    for _ in range(3):
        started = time.perf_counter()
        frame = spark.read.format("kafka").options(**options).load()
        row = frame.selectExpr("count(*)", "sum(length(value))", "max(offset)", "max(timestamp)").collect()[0]
        rates.append(count / (time.perf_counter() - started))
        assert row[0] == count, row
    streams, steady = [], []
    for number in range(3):
        frame = spark.readStream.format("kafka").options(**options, maxOffsetsPerTrigger="1000000").load()
        started = time.perf_counter()
        query = (
            frame.writeStream.format("noop")
            .trigger(availableNow=True)
            .option("checkpointLocation", f"{work}/checkpoint-{number}")
            .start()
        )
        query.awaitTermination()
        streams.append(count / (time.perf_counter() - started))
        progress = [(each.numInputRows, each.durationMs["triggerExecution"]) for each in query.recentProgress]
        steady.append(steady_rate(progress))
    print(json.dumps({"batch": rates, "stream": streams, "steady": steady}))


def steady_rate(progress: Sequence[tuple[int, int]]) -> float:
    """Rows a second of a stream's micro-batches, each (rows, ms), those without rows left out."""
    full = [(rows, took) for rows, took in progress if rows]
    return sum(rows for rows, _ in full) * 1000 / sum(took for _, took in full)


def measure(count: int, data: str) -> dict[str, list[float]]:
    """Messages a second, three each: "batch", "stream", and "steady", the stream without its start."""
    from spark_data import DATA  # here, as this file also runs where mqframe is not installed

    lib, connector = jars()
    with tempfile.TemporaryDirectory(prefix="mqframe-kafka") as folder:
        lines = pathlib.Path(folder, "events")
        DATA[data]().write_lines(lines)
        process, address = start_broker(lib, pathlib.Path(folder))
        try:
            command = with_packages(["confluent-kafka"], "--fill", address, str(count), str(lines))
            subprocess.run(command, check=True)
            environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
            jar_list = ",".join(map(str, sorted(connector.glob("*.jar"))))
            command = with_packages([f"pyspark=={PYSPARK}"], "--read", address, str(count), jar_list, folder)
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode:
                sys.exit(done.stderr[-2000:])
            found = json.loads(done.stdout.splitlines()[-1])
        finally:
            process.terminate()
            process.wait(30)
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5_000_000)
    parser.add_argument("--data", default="uniform,varying")
    parser.add_argument("--fill", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fill:
        fill(arguments.fill[0], int(arguments.fill[1]), pathlib.Path(arguments.fill[2]))
    elif arguments.read:
        address, count, jar_list, work = arguments.read
        read(address, int(count), jar_list, work)
    else:
        missing = [tool for tool in ("java", "mvn", "uv") if shutil.which(tool) is None]
        if missing:
            sys.exit(f"not installed: {', '.join(missing)}")
        for data in arguments.data.split(","):
            for what, rates in measure(arguments.count, data).items():
                print(f"kafka, {data:8s} {what:6s}", "  ".join(f"{rate:9.0f}" for rate in rates), "msg/s")


if __name__ == "__main__":
    main()

"""How long a small batch of a stream takes a local Spark, by what keeps its checkpoint: ours or Spark's.

    python bench/stream_batches.py

In one session, in turns: a stream of ten batches, two messages each, from a broker into Parquet. Printed are
medians: milliseconds a batch, the first of a stream left out, and the JVM's processor time for a stream with
that of processes that it started.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from mqframe_spark import local_session
from mqframe_testing import Cluster

from mqframe import Message, Producer

KEY = "spark.sql.streaming.checkpointFileManagerClass"
USUAL = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
BATCHES = 10


def processor_seconds(process: int) -> float:
    """What `process` and the children that it waited for have spent."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def stream(rows: Any, folder: Path) -> list[int]:
    """Milliseconds of each batch but the first."""
    writer = rows.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "rows"))
    query.awaitTermination()
    return [each.durationMs["triggerExecution"] for each in query.recentProgress if each.numInputRows][1:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    spark = local_session("batches", master="local[2]", **{"spark.sql.shuffle.partitions": "2"})
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    java = gateway.proc.pid
    managers = {"ours": spark.conf.get(KEY), "usual": USUAL}
    found: dict[str, tuple[list[int], list[float]]] = {name: ([], []) for name in managers}
    with Cluster() as cluster, Producer("batches", nameserver=cluster.nameserver) as producer:
        cluster.create_topic("t", 2)
        for number in range(2 * BATCHES):
            producer.send(Message("t", b"%d" % number))
        source = {"topic": "t", "nameserver": cluster.nameserver, "startingOffsets": "earliest"}
        rows = spark.readStream.format("mqframe").options(**source, maxOffsetsPerTrigger="2").load()
        for turn in range(rounds + 1):
            for name, manager in managers.items():
                spark.conf.set(KEY, manager)
                before = processor_seconds(java)
                with tempfile.TemporaryDirectory() as folder:
                    batches = stream(rows, Path(folder))
                if turn:  # the first one is for the JVM to get warm
                    found[name][0].extend(batches)
                    found[name][1].append(processor_seconds(java) - before)
    for name, (milliseconds, seconds) in found.items():
        batch, whole = statistics.median(milliseconds), statistics.median(seconds)
        print(f"{name}: {batch:g} ms a batch, {whole:.2f} s of processor a stream")
    spark.stop()


if __name__ == "__main__":
    main()

"""Makes `.tools/spark`, with which each Spark of the tests takes some seconds less to start.

    python tools/fast_spark.py

It is a home for Spark as `mqframe_spark.home` makes it, with an archive of classes (`classes.jsa`), which the
JVM then need not read and check again. conftest.py uses what is there; where
nothing is, or another Java was installed since, tests run as well, slower.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pyspark
from mqframe_spark.home import link_home

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".tools" / "spark"
CLASSES = "classes.jsa"
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"


def use_spark(folder: Path) -> None:
    """What most tests do: read a topic and write its rows, in a batch and in a stream."""
    from mqframe_spark import local_session
    from mqframe_testing import Cluster

    from mqframe import Message, Producer

    spark = local_session("classes", master="local[1]", log_level="OFF")
    with Cluster() as cluster, Producer("classes", nameserver=cluster.nameserver) as producer:
        cluster.create_topic("t", 2)
        for number in range(10):
            producer.send(Message("t", b"%d" % number))
        source = {"topic": "t", "nameserver": cluster.nameserver, "startingOffsets": "earliest"}
        rows = spark.read.format("mqframe").options(**source).load()
        rows.write.parquet(str(folder / "rows"))
        assert spark.read.parquet(str(folder / "rows")).count() == 10
        stream = spark.readStream.format("mqframe").options(**source).load().writeStream.format("parquet")
        stream = stream.option("checkpointLocation", str(folder / "checkpoint"))
        stream.trigger(availableNow=True).start(str(folder / "stream")).awaitTermination()
    spark.stop()
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(600)  # it writes the archive now


def main() -> None:
    """Make all in its place, which the archive of classes remembers."""
    shutil.rmtree(HOME, ignore_errors=True)
    link_home(HOME, Path(pyspark.__file__).parent)
    classes = HOME / CLASSES
    os.environ["SPARK_HOME"] = str(HOME)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{JAVA_OPTIONS} -XX:ArchiveClassesAtExit={classes}"
    with tempfile.TemporaryDirectory() as folder:
        use_spark(Path(folder))
    print(f"{classes} holds {classes.stat().st_size >> 20} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()

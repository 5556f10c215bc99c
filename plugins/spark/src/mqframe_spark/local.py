"""A Spark on this machine alone."""

from __future__ import annotations

import os
import sys
from typing import Final

from pyspark import SparkConf
from pyspark.sql import SparkSession

from mqframe_spark.java import prepare_java
from mqframe_spark.starting import quiet_start

_QUIET: Final = {
    # By TCP a task may wait some 40 ms for an acknowledgement that the other side puts off.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "pyspark_mqframe.daemon",
}
_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    # Same files, same renames; the usual one starts `readlink` some 25 times for each batch of a stream.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Arrow's checks of each access to a value took a sixth of the JVM's time; the collector for throughput.
    "spark.driver.extraJavaOptions": "-Darrow.enable_unsafe_memory_access=true "
    "-Darrow.enable_null_check_for_get=false -XX:+UseParallelGC",
}


def session_conf() -> dict[str, str]:
    """Settings for sessions of your own, where this plugin is installed for Spark's Python workers, too.

    Quick sockets between the JVM and them, and no traceback of a worker that Spark needs no longer.
    """
    return dict(_QUIET)


def local_session(
    app_name: str = "mqframe", *, master: str = "local[*]", log_level: str = "ERROR", **conf: str
) -> SparkSession:
    """A session on loopback, without web page, in this interpreter's environment, with a Java that is there.

    `conf`: Spark settings, which win over the defaults here: `local_session("job", **{"spark.ui.enabled":
    "true"})`. Where a session is running already, that one is returned. Raises `FixError` when there is no
    Java.
    """
    prepare_java()
    # Spark looks for Python sources, and runs tasks, with the interpreter named here: it must be this one,
    # and the setting spark.pyspark.python comes too late for the former.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.master": master, "spark.app.name": app_name, **_QUIET, **_LOCAL, **conf}
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    with quiet_start(SparkConf().setAll(list(settings.items()))):
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel(log_level)
    return session


session = local_session

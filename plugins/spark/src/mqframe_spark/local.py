"""A Spark on this machine alone."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Final

from pyspark.sql import SparkSession

from mqframe_spark.java import prepare_java

_DEFAULTS: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    # By TCP each task waits some 40 ms for an acknowledgement that the other side puts off.
    "spark.python.unix.domain.socket.enabled": "true",
    # Arrow's checks of each access to a value took a sixth of the JVM's time; the collector for throughput.
    "spark.driver.extraJavaOptions": "-Darrow.enable_unsafe_memory_access=true "
    "-Darrow.enable_null_check_for_get=false -XX:+UseParallelGC",
}


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
    builder = SparkSession.builder.master(master).appName(app_name)
    for key, value in {**_DEFAULTS, **conf}.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # It is only said of the pandas that happens to be installed; nothing here uses pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel(log_level)
    return session


session = local_session

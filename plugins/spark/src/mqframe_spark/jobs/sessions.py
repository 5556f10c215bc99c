"""Sessions: on this machine, on a cluster, or through Spark Connect."""

from __future__ import annotations

import os
import re
import socket
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from mqframe.core.errors import FixError, RetryError, SettingError
from mqframe_spark.jobs.failures import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
_LOCAL: Final = re.compile(r"local(\[[0-9*, ]+\])?\Z")
_CLUSTER: Final = re.compile(r"(yarn|spark://.+|k8s://.+|local-cluster\[.+\])\Z")
_ADDRESS: Final = re.compile(r"[/,]([^/,;]+):(\d+)(?=[,/;]|$)")
CONNECT_SECONDS: Final = 5.0
LOG_LEVELS: Final = ("ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN")


@attrs.frozen
class SessionOptions:
    """Which Spark to use.

    `master`: local[N], spark://, yarn, k8s:// or sc:// (Spark Connect). `conf`: Spark settings. `py_files`:
    .py, .zip and .egg files that tasks import. `log_level`: of Spark's own log, which holds Java's stack
    traces; errors are told without it.
    """

    name: str = "mqframe"
    master: str = LOCAL
    conf: Mapping[str, str] = {}
    py_files: tuple[str, ...] = ()
    log_level: str = "OFF"


def is_local(master: str) -> bool:
    """Whether `master` means this machine alone."""
    return _LOCAL.match(master) is not None


def is_connect(master: str) -> bool:
    """Whether `master` is the address of a Spark Connect server."""
    return master.startswith("sc://")


def check_session(options: SessionOptions) -> None:
    """Raise `SettingError` when `options` cannot make a session."""
    master = options.master
    if not (is_local(master) or is_connect(master) or _CLUSTER.match(master)):
        raise SettingError(f"--master {master}: write local[N], spark://host:port, yarn, k8s://… or sc://…")
    if options.log_level.upper() not in LOG_LEVELS:
        raise SettingError(f"--log-level {options.log_level}: choose one of {', '.join(LOG_LEVELS)}")
    for path in options.py_files:
        if not Path(path).is_file():
            raise SettingError(f"--py-file {path}: there is no such file")


def check_master(master: str) -> None:
    """Raise `RetryError` when nobody listens at any address in `master`; Spark itself tries for a minute."""
    places = [found for found in _ADDRESS.findall(master) if master.startswith(("spark://", "sc://"))]
    reason: OSError | None = None
    for host, port in places:
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
            return
        except OSError as problem:
            reason = problem
    if reason is not None:
        raise RetryError(f"--master {master}: nobody answers there: {reason}")


def open_session(options: SessionOptions) -> SparkSession:
    """A session as `options` say. Raises `FixError` without Java, or without what Spark Connect needs, and
    `RetryError` when nobody answers at the master's address.

    With a master other than local[N], this plugin must be installed where Spark's Python workers run. On a
    cluster the variables PYSPARK_PYTHON and JAVA_HOME count if they are set.
    """
    check_session(options)
    check_master(options.master)
    with spark_errors(f"--master {options.master}"), warnings.catch_warnings():
        # It is only said of the pandas that happens to be installed.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        if is_connect(options.master):
            session = _connect(options)
        elif is_local(options.master):
            from mqframe_spark.local import local_session

            session = local_session(
                options.name, master=options.master, log_level=options.log_level.upper(), **options.conf
            )
        else:
            session = _cluster(options)
        for path in options.py_files:
            if is_connect(options.master):
                session.addArtifacts(path, pyfile=True)
            else:
                session.sparkContext.addPyFile(path)
    return session


def _connect(options: SessionOptions) -> SparkSession:
    from pyspark.errors import PySparkImportError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(options.master).appName(options.name)
    for key, value in options.conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkImportError, ImportError) as missing:
        reason = str(missing).splitlines()[0]
        raise FixError(f'Spark Connect needs more: pip install "pyspark[connect]" ({reason})') from None


def _cluster(options: SessionOptions) -> SparkSession:
    from pyspark.sql import SparkSession

    from mqframe_spark.java import prepare_java

    prepare_java()
    # Spark looks for Python sources with the interpreter named here, on this machine, too.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(options.master).appName(options.name)
    # Its progress bar would be drawn between our own lines.
    quiet = {"spark.ui.showConsoleProgress": "false", "spark.log.level": options.log_level.upper()}
    for key, value in {**quiet, **options.conf}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(options.log_level.upper())
    return session

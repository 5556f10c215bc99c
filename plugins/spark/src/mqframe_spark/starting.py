"""Starts the JVM of a local Spark, and lets it say nothing while all is well."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import warnings
from collections.abc import Iterator
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from mqframe_spark.home import lighter_home

_CHUNK_BYTES: Final = 64 * 1024
_STANDARD_ERROR: Final = 2
_BANNER: Final = re.compile(
    rb"WARNING: Using incubator modules: jdk\.incubator\.vector"
    rb"|Using Spark's default log4j profile: "
    rb"|Setting default log level to "
    rb"|To adjust logging level use sc\.setLogLevel"
    rb"|.* WARN NativeCodeLoader: Unable to load native-hadoop library"
)
_LEFT_WORKER: Final = (
    re.compile(rb"Traceback \(most recent call last\):"),
    re.compile(rb'  File ".*pyspark/daemon\.py", line \d+, in manager'),
    re.compile(rb'  File ".*pyspark/daemon\.py", line \d+, in worker'),
    re.compile(rb"BrokenPipeError: "),
)
_SOURCE_LINE: Final = b"    "


@contextlib.contextmanager
def quiet_start(conf: SparkConf) -> Iterator[None]:
    """Spark's context as `conf` says, unless there is one; until the end of the block the banner is left out.

    Everything else that the JVM and its Python workers write to standard error goes there, now and later.
    """
    with warnings.catch_warnings():
        # It is only said of the pandas that happens to be installed; nothing here uses pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        # One JVM serves all contexts of an interpreter, one after the other.
        if SparkContext._gateway is not None:
            yield
            return
        reading, writing = os.pipe()
        begun = threading.Event()
        threading.Thread(target=_pass_on, args=(reading, begun), name="spark-errors", daemon=True).start()
        try:
            with lighter_home():
                gateway = launch_gateway(conf, {"stderr": writing})  # type: ignore[no-untyped-call]
        finally:
            os.close(writing)
        try:
            SparkContext(conf=conf, gateway=gateway)
            yield
        finally:
            begun.set()


class Sieve:
    """What is worth telling of the JVM's standard error.

    Left out are the banner, as long as Spark has not begun, and the traceback of a worker that Spark has no
    use for any more: those that plan reads and writes run under Spark's own daemon, whatever
    `spark.python.daemon.module` says.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._held: list[bytes] = []
        self._matched = 0

    def put(self, data: bytes, *, begun: bool) -> bytes:
        """What to write now that `data` came. Once Spark has `begun`, half lines do not wait."""
        data = self._rest + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1  # bars of progress end with the latter
        self._rest = data[end:]
        told = b"".join(self._line(line, begun) for line in data[:end].splitlines(keepends=True))
        if begun and not self._held and not b"Traceback".startswith(self._rest[:9]):
            told, self._rest = told + self._rest, b""
        return told

    def end(self) -> bytes:
        """What is left when nothing more comes.

        The beginning of such a traceback is not: its worker was ended while it wrote it.
        """
        return self._rest

    def _line(self, line: bytes, begun: bool) -> bytes:
        if self._held and line.startswith(_SOURCE_LINE):
            self._held.append(line)
            return b""
        if not _LEFT_WORKER[self._matched].match(line):
            told = self._given_up()
            if not _LEFT_WORKER[0].match(line):
                return told + (b"" if not begun and _BANNER.match(line) else line)
        else:
            told = b""
        self._held.append(line)
        self._matched += 1
        if self._matched == len(_LEFT_WORKER):
            self._given_up()
        return told

    def _given_up(self) -> bytes:
        told = b"".join(self._held)
        self._held.clear()
        self._matched = 0
        return told


def _pass_on(reading: int, begun: threading.Event) -> None:
    sieve = Sieve()
    with open(reading, "rb", buffering=0) as source:
        while data := source.read(_CHUNK_BYTES):
            _tell(sieve.put(data, begun=begun.is_set()))
    _tell(sieve.end())


def _tell(told: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody may be listening any more; the JVM must not wait for that
        while told:
            told = told[os.write(_STANDARD_ERROR, told) :]

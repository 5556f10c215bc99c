"""The dispatcher `parquet`: stored messages as files that Spark reads natively.

The work is done in a process of its own (`mqframe_spark.lake.parquet_worker`): sends do not wait for it.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import attrs
import msgspec

from mqframe.core.errors import RetryError
from mqframe.hooks.interfaces import Dispatcher, LogRange
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_spark.lake.parquet_options import ParquetOptions

STOP_SECONDS = 60.0


class WorkerFailed(RetryError):
    """The process that makes the files failed, or ended; what it has not published comes again."""


class ParquetDispatcher(Dispatcher):
    """Writes the messages of chosen topics into Parquet files, one folder for each topic and day."""

    name = "parquet"
    stretch_bytes_max = None  # the worker finds the ends of records by itself
    gather_seconds = 0.2

    Options = ParquetOptions
    worker_command: tuple[str, ...] = (sys.executable, "-m", "mqframe_spark.lake.parquet_worker")

    def __init__(self, options: ParquetOptions | None = None) -> None:
        """Raises `SettingError` for options that cannot work, so that a broker does not start with them."""
        self._options = options or ParquetOptions()
        self._options.check()
        self._data_directory = Path()
        self._broker = ""
        self._worker: subprocess.Popen[bytes] | None = None
        self._durable: int | None = None
        self._taken = 0

    def start(self, data_directory: Path, broker_name: str) -> int | None:
        """Start the process. The broker keeps the cursor."""
        self._data_directory, self._broker = data_directory, broker_name
        self._start()
        return None

    def dispatch(self, stretch: LogRange) -> int:
        """Take in what is new in `stretch`, publish what is large or old enough. Raises `WorkerFailed`."""
        directory = str(stretch.commit_log_directory)
        return self._ask({"take": [directory, stretch.commit_log_file_bytes, stretch.start, stretch.end]})

    def taken(self, stretch: LogRange) -> int:
        """A long stretch is taken in in parts."""
        return min(max(self._taken, stretch.start), stretch.end)

    def idle(self) -> int | None:
        """Publish what has waited long enough, delete what is over."""
        before = self._durable
        durable = self._ask({"roll": True})
        if before is None:
            self._durable = None  # a process that has taken nothing in knows nothing of what is durable
            return None
        return None if durable == before else durable

    def stop(self) -> None:
        """Publish the rest, so that a stopped broker leaves nothing for its next start."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        try:
            if worker.poll() is None:
                _talk(worker, {"finish": True})
        finally:
            _close(worker)

    def _start(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(self.worker_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        fields: dict[str, Any] = attrs.asdict(cast("Any", self._options))
        path = fields["path"]
        try:
            _talk(
                worker,
                {
                    "options": {**fields, "path": str(path.absolute()) if path else None},
                    "data_directory": str(self._data_directory.absolute()),
                    "broker": self._broker,
                },
            )
        except WorkerFailed:
            _close(worker)
            raise
        self._worker, self._durable = worker, None
        return worker

    def _ask(self, command: dict[str, Any]) -> int:
        worker = self._worker
        if worker is None or worker.poll() is not None:
            if worker is not None:
                self._worker = None
                _close(worker)
            self._start()
            # It knows nothing of what the one before had taken in: that must come again, from the cursor.
            raise WorkerFailed("the process that makes Parquet files was started anew")
        try:
            answer = _talk(worker, command)
            self._durable, self._taken = int(answer["durable"]), int(answer["taken"])
        except WorkerFailed:
            if worker.poll() is not None:
                self._worker = None
                _close(worker)
            raise
        return self._durable


def _talk(worker: subprocess.Popen[bytes], command: dict[str, Any]) -> dict[str, Any]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(msgspec.json.encode(command) + b"\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    except OSError as problem:
        raise WorkerFailed(f"the process that makes Parquet files is gone: {problem}") from problem
    if not line:
        raise WorkerFailed(
            f"the process that makes Parquet files ended with code {worker.wait(STOP_SECONDS)}"
        )
    answer: dict[str, Any] = msgspec.json.decode(line)
    if "error" in answer:
        raise WorkerFailed(f"Parquet files could not be made: {answer['error']}")
    return answer


def _close(worker: subprocess.Popen[bytes]) -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    with contextlib.suppress(OSError):  # what a dead process had not read yet
        worker.stdin.close()
    try:
        worker.wait(STOP_SECONDS)
    finally:
        worker.stdout.close()


@hookimpl
def register_dispatchers() -> Factories:
    """The one."""
    return {ParquetDispatcher.name: ParquetDispatcher}

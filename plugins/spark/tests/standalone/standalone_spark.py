"""A standalone cluster of Spark's on loopback: a master, and workers as processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyspark
from mqframe_spark.java import prepare_java
from mqframe_testing.ports import lasting_port
from own_programs import missing
from real_time import until

from mqframe.core.errors import FixError

SPARK_HOME: Final = Path(pyspark.__file__).parent
SECONDS_MAX: Final = 280


class StandaloneSpark:
    """Processes of their own, each the first of a group, which the executors of a worker belong to.

    `folder`: of their logs and of what the workers keep.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        try:
            prepare_java(self._environment)
        except FixError as problem:
            missing(str(problem))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._port = lasting_port()
        self.master = f"spark://127.0.0.1:{self._port}"

    def start(self) -> None:
        """The master."""
        self._start("master", "master.Master", "--port", str(self._port))
        until(lambda: "Successfully started service 'sparkMaster'" in self._said("master"), SECONDS_MAX)

    def add_worker(self, name: str) -> None:
        """One with one core, which the master knows when this returns."""
        work = ("--port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / name))
        self._start(name, "worker.Worker", *work, self.master)
        until(lambda: "Successfully registered with master" in self._said(name), SECONDS_MAX)

    def executors(self, name: str) -> list[Path]:
        """The folders of those that the worker `name` has started."""
        return sorted(path for path in (self._folder / name).glob("app-*/*") if path.is_dir())

    def kill(self, name: str) -> None:
        """With all that it has started."""
        process = self._running.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        """Kill what is left."""
        for name in [*self._running]:
            self.kill(name)

    def environment(self) -> dict[str, str]:
        """For programs that run on it."""
        return dict(self._environment)

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        script = SPARK_HOME / "bin" / "spark-class"
        command = [script, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", "--webui-port", "0"]
        environment = {key: value for key, value in self._environment.items() if key != "SPARK_HOME"}
        environment["SPARK_DAEMON_MEMORY"] = "256m"
        with (self._folder / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [*command, *arguments], env=environment,
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def _said(self, name: str) -> str:
        text = (self._folder / f"{name}.log").read_text()
        assert self._running[name].poll() is None, text
        return text

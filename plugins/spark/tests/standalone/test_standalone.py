"""A standalone cluster of Spark's: a master and two workers on loopback, one of which is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from mqframe_spark.java import prepare_java
from mqframe_testing.ports import lasting_port
from own_programs import missing
from real_time import until

from mqframe import Message, Producer, Puller
from mqframe.core.errors import FixError

DRIVER = Path(__file__).with_name("standalone_driver.py")
MESSAGES = 400
KILL_AFTER = 60
SECONDS_MAX = 280


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
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
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


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[StandaloneSpark]:
    made = StandaloneSpark(tmp_path)
    try:
        made.start()
        for name in ("first", "second"):
            made.add_worker(name)
        yield made
    finally:
        made.close()


def count(puller: Puller, topic: str) -> int:
    """How many messages consumers can see."""
    return sum(puller.max_offset(queue) - puller.min_offset(queue) for queue in puller.queues(topic))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stream_outlives_the_kill_of_a_worker_and_writes_each_row_once(
    standalone: StandaloneSpark, mqframe_cluster: Any, tmp_path: Path
) -> None:
    nameserver = mqframe_cluster.nameserver
    for topic in ("ordered", "settled"):
        mqframe_cluster.create_topic(topic, 2)
    with Producer("p", nameserver=nameserver) as producer:
        for first in range(0, MESSAGES, 100):
            producer.send_batch([Message("ordered", b"%d" % (first + n)) for n in range(100)])
    given = {
        "master": standalone.master, "nameserver": nameserver, "source": "ordered", "target": "settled",
        "checkpoint": str(tmp_path / "checkpoint"),
    }  # fmt: skip
    driver = subprocess.Popen(
        [sys.executable, str(DRIVER), json.dumps(given)],
        env=standalone.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        with Puller(nameserver=nameserver) as puller:
            until(lambda: driver.poll() is not None or count(puller, "settled") >= KILL_AFTER, SECONDS_MAX)
        assert driver.poll() is None, driver.communicate()[1][-3000:]
        assert [len(standalone.executors(name)) for name in ("first", "second")] == [1, 1]
        standalone.kill("first")
        said, problems = driver.communicate(timeout=SECONDS_MAX)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert driver.returncode == 0, problems[-3000:]
    bodies = Counter(json.loads(said.splitlines()[-1]))
    assert bodies == Counter(str(number) for number in range(MESSAGES))

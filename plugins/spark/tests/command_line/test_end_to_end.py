"""`mqframe spark run` as users start it: a process of its own, stopped by a signal."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest

from mqframe import Message, Producer

PIPELINE = """
SUFFIX = "!"


def loud(frame):
    from pyspark.sql import functions as f

    return frame.select(f.concat(f.col("body").cast("string"), f.lit(SUFFIX)).alias("text"))


def broken(frame):
    return frame.where("colour = 1")
"""


class Run:
    """A started command; its standard error, line by line."""

    def __init__(self, folder: Any, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mqframe", "spark", *words],
            cwd=folder,
            env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._watchdog = threading.Timer(240, self.process.kill)
        self._watchdog.start()
        self.said: list[str] = []

    def wait_for(self, pattern: str) -> str:
        """The first line that matches."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if re.search(pattern, line):
                return line
        raise AssertionError(f"{pattern!r} was not said, but: {''.join(self.said)}")

    def end(self) -> tuple[int, str, str]:
        """Exit code, standard output, all of standard error."""
        out, rest = self.process.communicate()
        self._watchdog.cancel()
        return self.process.returncode, out, "".join([*self.said, rest])


@pytest.fixture
def topic(mqframe_shared_cluster, request, tmp_path) -> str:
    name = request.node.name
    mqframe_shared_cluster.create_topic(name, 2)
    send(mqframe_shared_cluster, name, range(10))
    (tmp_path / "mine.py").write_text(PIPELINE)
    return name


def send(cluster: Any, topic: str, numbers: range) -> None:
    with Producer("p", nameserver=cluster.nameserver) as producer:
        for number in numbers:
            producer.send(Message(topic, b"%d" % number))


def without_daemon(errors: str) -> str:
    """`errors` without what a worker of Spark's own daemon says, if it gets to it, when its JVM is gone."""
    return re.sub(
        r"^Traceback .*\n(?:  File \".*pyspark/daemon\.py\".*\n(?:    .*\n)*)*(?:BrokenPipeError: .*\n|\Z)",
        "", errors, flags=re.MULTILINE,
    )  # fmt: skip


def test_a_pipeline_goes_on_until_it_is_told_to_stop(mqframe_shared_cluster, topic, tmp_path) -> None:
    cluster = mqframe_shared_cluster
    words = ["--topic", topic, "--nameserver", cluster.nameserver, "--master", "local[2]"]
    sink = ["--sink", "parquet", "--sink-path", "out", "--continuous", "0.2"]
    run = Run(tmp_path, "run", "mine.py:loud", *words, *sink)
    assert run.wait_for("checkpoint").startswith(
        f"mqframe: loud: checkpoint {tmp_path}/state/mqframe/spark/loud-"
    )
    run.wait_for(r"^batch \d+: 10 rows in .* s, [\d,]+ rows/s, 0 waiting")
    send(cluster, topic, range(10, 13))
    rows = 0
    while rows < 3:
        found = re.match(r"batch \d+: (\d+) rows", run.wait_for("^batch"))
        assert found is not None
        rows += int(found[1])
    run.process.send_signal(signal.SIGTERM)
    code, out, errors = run.end()
    assert code == 0, errors
    assert re.search(r"^rows\t13$", out, re.MULTILINE), out
    assert re.search(r"^stopped\tyes$", out, re.MULTILINE), out
    assert "Traceback" not in without_daemon(errors)
    assert "\tat " not in errors
    written = pq.ParquetDataset(tmp_path / "out").read().column("text").to_pylist()
    assert Counter(written) == Counter(f"{number}!" for number in range(13))


def test_an_error_is_one_line_and_an_exit_code(mqframe_shared_cluster, topic, tmp_path) -> None:
    words = ["--topic", topic, "--nameserver", mqframe_shared_cluster.nameserver, "--master", "local[1]"]
    code, out, errors = Run(tmp_path, "run", "mine.py:broken", *words).end()
    assert (code, out) == (2, "")
    assert "Traceback" not in without_daemon(errors)
    assert "\tat " not in errors
    [line] = [line for line in errors.splitlines() if "`colour` cannot be resolved" in line]
    assert line.startswith("mqframe: ")

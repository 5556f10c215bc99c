"""`mqframe spark` in this process: commands as they are typed, and a Spark that may not start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.command_line.app import app
from mqframe_spark.jobs.sessions import SessionOptions
from mqframe_testing.cluster import Cluster
from typer.testing import CliRunner

from mqframe import Message, MessageQueue, Producer
from mqframe.core.errors import MqframeError


class Commands:
    """Runs `mqframe spark` with the words that are typed behind it."""

    nobody = "127.0.0.1:1"

    def invoke(self, *words: str) -> Any:
        """The result, whatever it is."""
        return CliRunner().invoke(app, list(words), catch_exceptions=True)

    def done(self, *words: str) -> Any:
        """The result of a command that succeeds."""
        result = self.invoke(*words)
        assert result.exit_code == 0, (result.output, result.exception)
        return result

    def refused(self, *words: str) -> MqframeError:
        """What a command raises that is refused."""
        result = self.invoke(*words)
        assert isinstance(result.exception, MqframeError), (result.output, result.exception)
        return result.exception


class Sessions:
    """Stands for Spark: `opened` with which options, `stopped` how often."""

    def __init__(self) -> None:
        self.opened: list[SessionOptions] = []
        self.stopped = 0

    def open(self, options: SessionOptions) -> "Sessions":
        self.opened.append(options)
        return self

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    """Commands in a folder of the test's own that holds `mine.py`. None of them may start Spark."""

    def start(options: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("mqframe_spark.jobs.sessions.open_session", start)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def pipeline(frame):\n    return frame\n")
    return Commands()


@pytest.fixture
def sessions(command: Commands, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """What commands take for Spark."""
    found = Sessions()
    monkeypatch.setattr("mqframe_spark.jobs.sessions.open_session", found.open)
    return found


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[Any, ...]]]:
    """Replaces a job, named module.function: it gives `result`. What it is called with is noted."""

    def replace(name: str, result: Any) -> list[tuple[Any, ...]]:
        calls: list[tuple[Any, ...]] = []

        def called(*given: Any, **named: Any) -> Any:
            calls.append((*given, named) if named else given)
            return result

        monkeypatch.setattr(f"mqframe_spark.jobs.{name}", called)
        return calls

    return replace


@pytest.fixture
def cluster(mqframe_shared_cluster: Cluster, request: pytest.FixtureRequest) -> Cluster:
    """A cluster with a topic of the test's name: 4 messages in its first queue, 2 in its second."""
    topic = request.node.name.split("[")[0]
    mqframe_shared_cluster.create_topic(topic, 2)
    with Producer("p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in (0, 0, 0, 1, 1, 0):
            producer.send(Message(topic, b"x"), queue=MessageQueue(topic, "broker-a", number))
    return mqframe_shared_cluster

"""The main job, on small inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from mqframe_cli.app import app
from mqframe_cli.quickstart import command
from mqframe_cli.quickstart.command import choose, run
from mqframe_cli.quickstart.events import open_source
from mqframe_cli.quickstart.report import show_report
from mqframe_cli.quickstart.watch import Bars
from mqframe_testing.server_process import ServerProcess
from typer.testing import CliRunner

from mqframe import Message, Producer
from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import TagSummary, TopicSummary
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl

ROWS = 500
EXPECTED = {"even": TagSummary(250, 250, 62250.0), "odd": TagSummary(250, 250, 62500.0)}


class Known(TopicSummary):
    """Says what it was made with, whatever the topic holds."""

    def __init__(self, groups: dict[str, TagSummary]) -> None:
        self.groups = groups

    def summarize(self, nameserver: str, topic: str, value: str) -> dict[str, TagSummary]:
        return self.groups


def chosen(allocate: str, groups: dict[str, TagSummary]) -> command.ChosenPlugins:
    class Plugin:
        @hookimpl
        def register_topic_summaries(self) -> dict[str, Any]:
            return {"known": lambda: Known(groups)}

    plugins = PluginManager()
    plugins.register(Plugin())
    return choose(plugins, allocate, "known")


def test_a_broken_summary_stops_only_who_names_it() -> None:
    class Plugin:
        @hookimpl
        def register_topic_summaries(self) -> dict[str, Any]:
            return {"a_broken": "no_such_module:Summary", "known": lambda: Known(EXPECTED)}

    plugins = PluginManager(list)
    plugins.register(Plugin(), "mine")
    assert choose(plugins, "averagely").summary_name == "known"
    with pytest.raises(PluginError, match="no_such_module"):
        choose(plugins, "averagely", "a_broken")
    plugins.block("topic_summary.known")
    with pytest.raises(PluginError, match="no_such_module"):
        choose(plugins, "averagely")
    plugins.block("mine")
    with pytest.raises(PluginError, match=r'install it with: pip install "mqframe\[quickstart\]"'):
        choose(plugins, "averagely")


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    lines = [f"{number},{'odd' if number % 2 else 'even'},{number}.0" for number in range(ROWS)]
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["id,kind,value", *lines]))
    return path


def start(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mqframe", "quickstart", *words]
    environment = {**os.environ, "COLUMNS": "120"}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)


@pytest.mark.skipif(find_spec("pyspark") is None, reason="Spark is not installed")
def test_everything_agrees_on_a_file_of_ones_own(numbers: Path) -> None:
    done = start("--input", str(numbers), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["problems"] == []
    assert (report["topic"], report["sent"], report["consumed"]) == ("numbers", ROWS, ROWS)
    assert sum(member["messages"] for member in report["members"]) == ROWS + report["repeated"]
    assert {group["tag"]: (group["count"], group["spark_count"]) for group in report["groups"]} == {
        "even": (250, 250),
        "odd": (250, 250),
    }
    assert all(group["mean"] == group["spark_mean"] for group in report["groups"])


@pytest.mark.long
@pytest.mark.skipif(find_spec("pyspark") is None, reason="Spark is not installed")
def test_everything_agrees_on_all_flights_of_a_year() -> None:
    done = start("--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["topic"], report["sent"], report["consumed"]) == ("flights", 336_776, 336_776)
    assert len(report["groups"]) == 16


def test_both_members_get_their_queues_and_the_report_says_so(
    numbers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Bars(quiet=True) as watch, ServerProcess(tmp_path / "data") as system:
        source = open_source(numbers, tag="kind", sharding="id", value="value")
        report = run(source, system, chosen("averagely_by_circle", EXPECTED), watch)
    assert report.problems == []
    queues = [set(member["queues"]) for member in report.members]
    assert queues[0] | queues[1] == set(range(command.QUEUES))
    show_report(report)
    text = capsys.readouterr().out
    assert "everything agrees" in text
    assert "odd" in text


def test_what_does_not_agree_is_told(numbers: Path, tmp_path: Path) -> None:
    wrong = {**EXPECTED, "odd": TagSummary(249, 249, 62499.0)}
    with Bars(quiet=True) as watch, ServerProcess(tmp_path / "data") as system:
        with Producer(group="stranger", nameserver=system.nameserver) as producer:
            producer.send(Message("numbers", b"nobody expects this", tag="strange"))
        source = open_source(numbers, tag="kind", value="value")
        report = run(source, system, chosen("averagely", wrong), watch)
    assert report.problems[0].startswith("known, odd: expected 250 rows")
    assert report.problems[1:] == [
        "1 messages were consumed that nobody sent",
        "consumers counted other tags than the input holds",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--input", "/nowhere.csv"], "/nowhere.csv cannot be read"),
        (["--allocate", "by_magic"], "by_magic"),
    ],
)
def test_wrong_words_are_refused_before_anything_starts(words: list[str], said: str) -> None:
    done = start(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_plugin_that_computes_it_says_how_to_get_one() -> None:
    plugins = PluginManager()
    plugins.block("mqframe-plugin-spark")
    result = CliRunner().invoke(app, ["quickstart"], obj=plugins)
    assert result.exit_code == 2
    assert 'pip install "mqframe[quickstart]"' in result.output

"""What all commands have in common: exit codes and errors."""

from __future__ import annotations

import json

import pytest
from command_runs import run
from mqframe_cli.app import app
from mqframe_cli.commands import exit_code, report
from typer.testing import CliRunner

from mqframe.core.errors import CallTimeout, MessageError, PluginError, StoreError
from mqframe.hooks.manager import PluginManager


def test_exit_codes(at: str) -> None:
    run("topic", "show", "cli-nowhere", code=2)
    run("message", "send", "cli illegal", "body", code=2)
    run("message", "show", "TBW102", "0" * 32, code=1)
    run("offset", "reset", "g", "t", "--to", "yesterday", code=2)
    run("bench", "produce", "--mode", "fastest", code=2)
    run("topic", "create", code=2)
    run("no-such-command", code=2)
    run("cluster", "--nameserver", "127.0.0.1:1", code=3)


def test_an_error_is_one_line_or_one_json_object(at: str) -> None:
    result = CliRunner().invoke(app, ["cluster", "--nameserver", "127.0.0.1:1"])
    assert result.stderr.startswith("mqframe: ")
    assert result.stderr.count("\n") == 1
    result = CliRunner().invoke(app, ["cluster", "--nameserver", "127.0.0.1:1", "--json"])
    problem = json.loads(result.stderr)
    assert problem["retry"] is True
    assert "127.0.0.1:1" in problem["message"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["topc", "list"], "Did you mean topic"),
        (["topic", "lst"], "list"),
        (["topic", "list", "--al"], "--all"),
        (["--nope"], "--nope"),
        (["topic", "create"], "topic"),
        (["topic", "create", "t", "--queues", "many"], "--queues"),
    ],
)
def test_wrong_words_are_two_lines_at_most(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, words, prog_name="mqframe")
    assert result.exit_code == 2
    first, second = result.stderr.splitlines()
    assert first.startswith("mqframe: ")
    assert said in first
    assert second.startswith("Try: mqframe")
    assert result.stdout == ""


def test_a_command_of_a_plugin_that_is_missing_says_how_to_install_it() -> None:
    without = PluginManager()
    without.block("mqframe-plugin-schedules")
    result = CliRunner().invoke(app, ["schedule", "list"], prog_name="mqframe", obj=without)
    assert result.exit_code == 2
    assert "pip install mqframe-plugin-schedules" in result.stderr.splitlines()[0]


def test_what_servers_say_cannot_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report(MessageError("\x1b[2Ja\nb\nc\x9b"), as_json=False)
    assert capsys.readouterr().err == "mqframe: \\x1b[2Ja\nb c\\x9b\n"
    report(MessageError("\x1b[2J\x9b"), as_json=True)
    line = capsys.readouterr().err
    assert line.rstrip("\n").isprintable()
    assert json.loads(line)["message"] == "\x1b[2J\x9b"


def test_exit_codes_tell_what_to_do() -> None:
    assert exit_code(CallTimeout("x")) == 3
    assert exit_code(MessageError("x")) == 2
    assert exit_code(PluginError("x")) == 2
    assert exit_code(StoreError("x")) == 1

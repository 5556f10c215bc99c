"""What all commands have in common: exit codes and errors."""

from __future__ import annotations

import json

from command_runs import run
from typer.testing import CliRunner

from mqframe.cli.app import app
from mqframe.cli.commands import exit_code
from mqframe.core.errors import CallTimeout, MessageError, PluginError, StoreError


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


def test_exit_codes_tell_what_to_do() -> None:
    assert exit_code(CallTimeout("x")) == 3
    assert exit_code(MessageError("x")) == 2
    assert exit_code(PluginError("x")) == 2
    assert exit_code(StoreError("x")) == 1

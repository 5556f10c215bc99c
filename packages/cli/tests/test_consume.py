"""`mqframe consume` against a running server."""

from __future__ import annotations

import json

from command_runs import read, run
from mqframe_cli.app import app
from typer.testing import CliRunner


def test_consume_writes_what_the_group_gets_and_keeps_its_progress(at: str) -> None:
    run("topic", "create", "cli-consumed", "--queues", "1")
    run("message", "send", "cli-consumed", "-", "--lines", data=b"a\nb\nc\n")
    words = ("consume", "cli-consumed", "--group", "cli-readers", "--from", "first", "--seconds", "30")
    lines = run(*words, "--count", "2").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["a", "b"]
    (line,) = run(*words, "--count", "1", "--json").splitlines()
    assert json.loads(line)["body"] == "c"
    assert [row["group"] for row in read("topic", "groups", "cli-consumed")] == ["cli-readers"]
    (row,) = read("offset", "show", "cli-readers", "--topic", "cli-consumed")
    assert (row["consumed"], row["end"], row["lag"]) == (3, 3, 0)
    (row,) = read("offset", "reset", "cli-readers", "cli-consumed", "--to", "start")
    assert row["offset"] == 0
    assert read("group", "show", "cli-readers")["lag"] == 3


def test_consume_chooses_by_properties(at: str) -> None:
    run("topic", "create", "cli-chosen", "--queues", "1")
    for number in range(4):
        run("message", "send", "cli-chosen", f"m{number}", "--property", f"n={number}")
    words = ("consume", "cli-chosen", "--group", "cli-choosers", "--from", "first", "--seconds", "30")
    lines = run(*words, "--sql", "n >= 2", "--count", "2").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["m2", "m3"]
    run(*words, "--sql", "n >=", code=2)
    run(*words, "--sql", "n >= 2", "--tag", "a", code=2)


def test_consume_begins_at_a_time_that_somebody_types(at: str) -> None:
    run("topic", "create", "cli-timed", "--queues", "1")
    run("message", "send", "cli-timed", "old")
    words = ("consume", "cli-timed", "--seconds", "30", "--count", "1")
    assert run(*words, "--group", "cli-timed-1", "--from", "2026-01-31T12:00").endswith("\told\n")
    for said in ("noon", "1700000000"):
        text = CliRunner().invoke(app, [*words, "--group", "cli-timed-2", "--from", said])
        assert text.exit_code == 2
        assert f"--from {said}: " in text.output

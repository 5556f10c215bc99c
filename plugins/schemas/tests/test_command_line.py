"""`mqframe schema`, by Typer's runner against a cluster in the process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from message_types import files
from mqframe_schemas.command_line import app
from mqframe_testing import Cluster
from typer.testing import CliRunner, Result

from mqframe.core.errors import FixError, SettingError

Run = Callable[..., Result]
FIRST = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
BREAKING = {**FIRST, "required": ["id", "note"]}


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, schema in (("first.json", FIRST), ("breaking.json", BREAKING)):
        Path(name).write_text(json.dumps(schema))
    Path("shop.pb").write_bytes(files({"id": (1, "int64")}).SerializeToString())

    def call(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "--nameserver", cluster.nameserver])

    return call


def test_a_schema_s_life(run: Run) -> None:
    assert run("list").output == "no topic has a schema\n"
    made = run("set", "orders", "first.json", "--json")
    assert made.exit_code == 0, made.output
    row = {"topic": "orders", "version": 1, "format": "json", "name": "Order", "rule": "backward"}
    assert json.loads(made.output) == row
    assert json.loads(run("show", "orders", "--json").output) == row | {"schema": FIRST}
    assert '"title": "Order"' in run("show", "orders").output
    assert json.loads(run("list", "--json").output) == [{"topic": "orders", "version": 1, "rule": "backward"}]
    good = run("check", "orders", "first.json")
    assert (good.exit_code, good.output) == (0, "it may follow; nothing breaks\n")
    bad = run("check", "orders", "breaking.json", "--json")
    assert bad.exit_code == 2
    assert [each["problem"] for each in json.loads(bad.output)] == [
        "what was written by version 1 could not be read any more:"
        " $.note: it is required, and could be left out before"
    ]
    assert isinstance(run("set", "orders", "breaking.json").exception, FixError)
    forced = run("set", "orders", "breaking.json", "--force", "--rule", "full", "--json")
    assert json.loads(forced.output) == row | {"version": 2, "rule": "full"}
    shown = json.loads(run("show", "orders", "--version", "1", "--json").output)
    assert (shown["version"], shown["schema"]) == (1, FIRST)
    every = json.loads(run("show", "orders", "--all", "--json").output)
    assert [(each["version"], each["in_force"]) for each in every] == [(1, False), (2, True)]
    assert isinstance(run("show", "orders", "--version", "3").exception, FixError)
    assert isinstance(run("delete", "orders").exception, SettingError)  # nobody is there to be asked
    assert json.loads(run("delete", "orders", "--yes", "--json").output) == {
        "topic": "orders",
        "deleted": True,
        "versions": False,
    }
    assert isinstance(run("show", "orders").exception, FixError)


def test_descriptor_sets_are_shown_as_what_they_describe(run: Run) -> None:
    assert isinstance(run("set", "packed", "shop.pb").exception, FixError)
    made = run("set", "packed", "shop.pb", "--message", "shop.Order", "--json")
    assert json.loads(made.output)["format"] == "protobuf"
    (file,) = json.loads(run("show", "packed", "--json").output)["schema"]
    assert [each["name"] for each in file["message_type"]] == ["Inner", "Order"]

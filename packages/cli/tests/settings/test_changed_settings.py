"""What operators changed while a server ran, in `mqframe config show --data`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import run
from mqframe_cli.app import app
from typer.testing import CliRunner


def shown(data: Path, program: str) -> dict[str, tuple[object, str]]:
    words = ("config", "show", "--for", program, "--data", str(data), "--changed", "--json")
    return {row["setting"]: (row["value"], row["origin"]) for row in json.loads(run(*words))}


def kept(file: Path, **settings: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"settings": settings}))


@pytest.mark.parametrize("program", ["broker", "server"])
def test_changes_count_before_all_else(tmp_path: Path, program: str) -> None:
    file = tmp_path / "store/config/changedSettings.json"
    kept(file, fileReservedTime="48", brokerPermission="4", gone="1")
    found = shown(tmp_path, program)
    assert found["store.keep_hours"] == (48, f"changed while it ran, {file}")
    assert found["broker.permission"] == (4, f"changed while it ran, {file}")


def test_when_and_by_whom_is_told_where_it_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "store/config/changedSettings.json"
    file.parent.mkdir(parents=True)
    notes = {"fileReservedTime": "at 2026-11-30 14:30:11+00:00 by ops from 10.0.0.1"}
    file.write_text(json.dumps({"settings": {"fileReservedTime": "48"}, "notes": notes}))
    assert shown(tmp_path, "broker")["store.keep_hours"] == (
        48,
        f"changed while it ran, {file} at 2026-11-30 14:30:11+00:00 by ops from 10.0.0.1",
    )


def test_nothing_was_changed(tmp_path: Path) -> None:
    assert shown(tmp_path, "broker").keys() <= {"store.directory", "net.busy_poll_microseconds"}
    assert not list(tmp_path.iterdir())


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "store/config/changedSettings.json"
    kept(file)
    file.write_text("{")
    result = CliRunner().invoke(app, ["config", "show", "--for", "broker", "--data", str(tmp_path)])
    assert result.exit_code == 1
    assert str(file) in result.stderr


def test_clients_keep_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["config", "show", "--for", "client", "--data", str(tmp_path)])
    assert result.exit_code == 2


def test_a_role_that_was_changed_counts_until_another_one_is_configured(tmp_path: Path) -> None:
    file = tmp_path / "store/config/changedRole.json"
    file.parent.mkdir(parents=True)
    role = {"role": "SLAVE", "brokerId": 2, "changedMs": 1, "configuredRole": "NONE", "configuredId": 0}
    file.write_text(json.dumps(role))
    found = shown(tmp_path, "broker")
    assert found["replication.role"] == ("SLAVE", f"changed while it ran, {file}")
    assert found["replication.id"] == (2, f"changed while it ran, {file}")
    file.write_text(json.dumps(role | {"configuredRole": "SLAVE", "configuredId": 1}))
    assert "replication.role" not in shown(tmp_path, "broker")

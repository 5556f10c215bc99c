"""`mqframe apply` and `mqframe definitions` against a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import read, refused, run
from mqframe_testing import Cluster

FILE = "[topics.orders]\nqueues = 4\n\n[groups.billing]\nretries_max = 3\n"


@pytest.fixture(autouse=True)
def nameserver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of a cluster that all commands mean."""
    with Cluster() as cluster:
        monkeypatch.setenv("NAMESRV_ADDR", cluster.nameserver)
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.toml"
    path.write_text(FILE)
    return path


CREATED = [
    {"action": "create", "kind": "topics", "name": "orders", "fields": {"queues": "none -> 4"}},
    {"action": "create", "kind": "groups", "name": "billing", "fields": {"retries_max": "none -> 3"}},
]


def test_a_plan_changes_nothing_and_an_application_what_the_plan_said(file: Path) -> None:
    assert read("apply", str(file), "--dry-run") == CREATED
    assert "orders" not in run("topic", "list")
    assert read("apply", str(file)) == CREATED
    assert read("apply", str(file)) == []
    assert run("apply", str(file)) == "nothing to change\n"
    assert "orders" in run("topic", "list")


def test_standard_input_may_be_the_file(file: Path) -> None:
    assert read("apply", "-", data=FILE.encode()) == CREATED


def test_nothing_is_deleted_unasked(file: Path) -> None:
    run("apply", str(file))
    file.write_text("[topics.bills]\n")
    said = refused("apply", str(file), "--prune")
    assert "topics.orders" in said
    assert "nothing was changed" in said
    assert "bills" not in run("topic", "list")
    assert [(row["action"], row["name"]) for row in read("apply", str(file), "--prune", "--yes")] == [
        ("create", "bills"),
        ("delete", "orders"),
    ]
    assert read("topic", "list") == [{"topic": "bills"}]


def test_what_was_made_is_shown_when_something_fails(file: Path) -> None:
    file.write_text('[topics.orders]\n[topics."spaced name"]\n')
    assert [row["name"] for row in read("apply", str(file), code=2)] == ["orders"]
    assert "spaced name" in refused("apply", str(file))


@pytest.mark.parametrize(
    ("text", "said"),
    [("[topic.orders]", "did you mean topics?"), ("[", "is no TOML"), (None, "cannot be read")],
)
def test_a_file_that_cannot_be_used_is_told(file: Path, text: str | None, said: str) -> None:
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert said in refused("apply", str(file))


def test_what_is_exported_is_a_file_to_apply(file: Path, tmp_path: Path) -> None:
    run("apply", str(file))
    run("definitions", "export", "--output", str(tmp_path / "written.toml"))
    written = (tmp_path / "written.toml").read_text()
    assert written == run("definitions", "export")
    assert "[topics.orders]\nqueues = 4\n" in written
    assert read("apply", str(tmp_path / "written.toml")) == []


def test_kinds_have_their_fields_and_defaults() -> None:
    rows = read("definitions", "kinds")
    assert {"kind": "topics", "field": "queues", "default": "8"} in rows
    assert {"kind": "groups", "field": "retry_waits", "default": "[]"} in rows
    assert {"kind": "users", "field": "everything", "default": "false"} in rows

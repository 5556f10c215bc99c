"""`mqframe schedule`, by Typer's runner against a cluster in the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from mqframe_schedules.command_line import app
from mqframe_testing import Cluster
from typer.testing import CliRunner, Result

from mqframe.core.errors import FixError

Run = Callable[..., Result]
GOOD = ("--cron", "30 8 * * MON-FRI", "--zone", "Europe/Berlin", "--topic", "reports", "--body", "daily")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(1, broker={"services": ("schedules",)}) as made:
        made.create_topic("reports", 2)
        yield made


@pytest.fixture
def run(cluster: Cluster) -> Run:
    def call(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "--nameserver", cluster.nameserver])

    return call


def test_a_schedule_s_life(run: Run) -> None:
    assert run("list").output == "there is no schedule yet\n"
    made = run(
        "create", "report", *GOOD, "--tag", "t", "--key", "k", "--property", "region=north=1", "--json"
    )
    assert made.exit_code == 0, made.output
    row = json.loads(made.output)
    assert (row["schedule"], row["cron"], row["zone"], row["topic"], row["missed"], row["broker"]) == (
        "report", "30 8 * * MON-FRI", "Europe/Berlin", "reports", "skip", "broker-a",
    )  # fmt: skip
    assert row["next"] > 0
    assert (row["last"], row["paused"], row["problem"]) == (None, False, "")
    table = run("list").output
    assert "30 8 * * MON-FRI" in table
    assert "problem" not in table
    assert json.loads(run("pause", "report", "--json").output)["paused"] is True
    assert json.loads(run("list", "--json").output)[0]["next"] is None
    assert "paused\tno\n" in run("resume", "report").output
    assert json.loads(run("remove", "report", "--json").output) == {"schedule": "report", "removed": True}
    assert json.loads(run("list", "--json").output) == []


@pytest.mark.parametrize("text", ["region", "=north", "region="])
def test_properties_are_written_as_pairs(run: Run, text: str) -> None:
    result = run("create", "report", *GOOD, "--property", text)
    assert isinstance(result.exception, FixError)
    assert "write it as NAME=VALUE" in str(result.exception)


def test_what_is_wrong_names_what_and_what_to_do(run: Run) -> None:
    result = run("create", "report", "--cron", "61 * * * *", "--topic", "reports", "--body", "x")
    assert isinstance(result.exception, FixError)
    assert "cron expression '61 * * * *': bad minute; give minute hour day month weekday" in str(
        result.exception
    )

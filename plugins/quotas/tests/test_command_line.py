"""`mqframe quota`, by Typer's runner against a cluster in the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from mqframe_quotas.command_line import app
from mqframe_quotas.settings import QuotaSettings
from mqframe_testing import Cluster
from typer.testing import CliRunner, Result

from mqframe import Message, Producer
from mqframe.core.errors import AnswerError, FixError

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    sections = [QuotaSettings(limits=("topic:slow send_messages=1000",))]
    with Cluster(2, broker={"services": ("quotas",)}, sections=sections) as made:
        made.create_topic("slow", 2)
        yield made


@pytest.fixture
def run(cluster: Cluster) -> Run:
    def call(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "--nameserver", cluster.nameserver])

    return call


def test_a_quota_s_life(run: Run, cluster: Cluster) -> None:
    made = run("set", "group", "shop", "--send-messages", "500", "--send-bytes", "100000", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.output) == {
        "kind": "group", "name": "shop", "send_bytes": 100000, "send_messages": 500,
    }  # fmt: skip
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        for _ in range(4):
            producer.send(Message("slow", b"12345"))
    rows = json.loads(run("list", "--json").output)
    found = {(row["name"], row["limit"], row["broker"]): row for row in rows}
    assert sorted(found) == sorted(
        (name, limit, broker)
        for name, limit in (("shop", "send_bytes"), ("shop", "send_messages"), ("slow", "send_messages"))
        for broker in ("broker-a", "broker-b")
    )
    sums = [
        sum(found[name, limit, broker]["used"] for broker in ("broker-a", "broker-b"))
        for name, limit in (("shop", "send_messages"), ("shop", "send_bytes"), ("slow", "send_messages"))
    ]
    assert sums == [4, 20, 4]
    assert found["shop", "send_bytes", "broker-a"]["from"] == "set"
    assert found["slow", "send_messages", "broker-a"]["from"] == "settings"
    shown = json.loads(run("show", "group", "shop", "--broker", "broker-b", "--json").output)
    assert [(row["quota"], row["limit"], row["most"]) for row in shown] == [
        ("group:shop", "send_bytes", 100000),
        ("group:shop", "send_messages", 500),
    ]
    assert "send_messages" in run("list").output
    assert json.loads(run("delete", "group", "shop", "--json").output)["deleted"] is True
    assert run("show", "group", "shop").output == "group shop is not limited\n"
    gone = run("delete", "group", "shop").exception
    assert isinstance(gone, AnswerError)
    assert "no quota of group shop was set at broker broker-a; those that were: there is none" in str(gone)


def test_a_quota_without_limits_lifts_the_default(run: Run) -> None:
    assert run("set", "user", "free").exit_code == 0
    rows = json.loads(run("list", "--broker", "broker-a", "--json").output)
    assert [(row["name"], row["limit"]) for row in rows] == [("slow", "send_messages"), ("free", "")]
    assert run("delete", "user", "free").exit_code == 0


def test_what_is_wrong_names_what_and_what_to_do(run: Run) -> None:
    result = run("set", "tenant", "a", "--send-bytes", "1")
    assert isinstance(result.exception, FixError)
    assert "quotas are for user, address, topic, group; 'tenant' is none of these" in str(result.exception)

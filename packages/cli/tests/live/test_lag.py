"""How far groups are behind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from command_runs import read, run
from mqframe_cli.live.lag import members_of
from real_time import until

from mqframe import ConsumeResult, PushConsumer
from mqframe.core.consuming.running_info import ConsumerRunningInfo
from mqframe.core.errors import CallTimeout


def test_all_groups_at_a_glance(at: str) -> None:
    run("topic", "create", "cli-lag", "--queues", "2")
    run("group", "create", "cli-lagging")
    run("group", "create", "cli-idle")
    run("message", "send", "cli-lag", "-", "--lines", data=b"a\nb\nc\n")
    run("offset", "reset", "cli-lagging", "cli-lag", "--to", "start")
    rows = {row["group"]: row for row in read("group", "lag")}
    row = rows["cli-lagging"]
    assert (row["lag"], row["topics"], row["queues"]) == (3, 1, 2)
    assert (rows["cli-idle"]["lag"], rows["cli-idle"]["queues"]) == (0, 0)
    lags = [row["lag"] for row in read("group", "lag")]
    assert lags == sorted(lags, reverse=True)


def test_one_group_queue_by_queue_with_owners(at: str) -> None:
    run("topic", "create", "cli-owned", "--queues", "2")
    consumer = PushConsumer("cli-owners", nameserver=at, consume_from="first")
    consumer.subscribe("cli-owned", "*", lambda messages, context: ConsumeResult.SUCCESS)

    def rows() -> list[dict[str, Any]]:
        return [row for row in read("group", "lag", "cli-owners") if row["topic"] == "cli-owned"]

    with consumer:
        until(lambda: len(consumer.queues) == 2)
        run("message", "send", "cli-owned", "-", "--lines", data=b"a\nb\nc\nd\n")
        until(lambda: sum(row["consumed"] for row in rows()) == 4)
        found = rows()
        assert [(row["broker"], row["queue"], row["lag"]) for row in found] == [
            ("broker-a", 0, 0),
            ("broker-a", 1, 0),
        ]
        assert {row["owner"] for row in found} == {consumer.client_id}
    assert {row["owner"] for row in rows()} == {""}


def test_members_that_do_not_answer_are_named() -> None:
    answers = {name: ConsumerRunningInfo(properties={"name": name}) for name in ("quick", "other")}

    class Members:
        def consumers(self, group: str) -> Any:
            clients = [SimpleNamespace(client_id=name) for name in ("quick", "silent", "other")]
            return SimpleNamespace(connection_set=clients)

        def running_info(self, group: str, client: str) -> ConsumerRunningInfo:
            if client not in answers:
                raise CallTimeout("no answer")
            return answers[client]

    admin: Any = SimpleNamespace(members=Members())
    assert members_of(admin, "g") == (answers, ["silent"])

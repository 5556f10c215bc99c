"""The slave's part of a broker."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from mqframe_admin.requests import CloneGroupOffset, DeleteTopicInBroker
from mqframe_pop.requests import PopMessage
from mqframe_replication.broker.slave import refused_at_slaves
from replicas import Pair

from mqframe.core.errors import Refusal
from mqframe.core.requests.admin import ResumeCheckHalfMessage, UpdateAndCreateTopic
from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.core.requests.messages import (
    ConsumerSendMsgBack,
    EndTransaction,
    PullMessage,
    SendBatchMessage,
    SendMessageV2,
)
from mqframe.trouble import QUIET_SECONDS


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (SendMessageV2, 14),
        (SendBatchMessage, 14),
        (ConsumerSendMsgBack, 14),
        (PopMessage, 14),
        (EndTransaction, 11),
        (UpdateAndCreateTopic, 1),
        (DeleteTopicInBroker, 1),
        (CloneGroupOffset, 1),
        (ResumeCheckHalfMessage, 11),
    ],
)
def test_what_writes_is_refused(kind: Any, code: int) -> None:
    with pytest.raises(Refusal, match="slave") as refusal:
        refused_at_slaves({})[kind.CODE](None)  # type: ignore[arg-type]
    assert refusal.value.code == code


def test_what_reads_is_served_as_ever() -> None:
    def serve(call: Any) -> str:
        return "served"

    assert refused_at_slaves({QueryConsumerOffset.CODE: serve})[QueryConsumerOffset.CODE] is serve  # type: ignore[dict-item]


def test_pulls_are_refused_while_the_slave_is_to_serve_nobody() -> None:
    def serve(call: Any) -> str:
        return "served"

    refuses = [False]
    pull = refused_at_slaves({PullMessage.CODE: serve}, lambda: refuses[0])[PullMessage.CODE]  # type: ignore[dict-item]
    assert pull(None) == "served"  # type: ignore[arg-type]
    refuses[0] = True
    with pytest.raises(Refusal, match="REJECTREQUEST") as refusal:
        pull(None)  # type: ignore[arg-type]
    assert refusal.value.code == 2


async def test_a_slave_without_a_master_says_so_and_follows_when_there_is_one(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        slave = await pair.start("slave", "SLAVE")
        await pair.settle(1.1)
        counters = await pair.counters(slave)
        assert counters["replicationFollows"] == "false"
        assert counters["replicationTrouble"] == "no name server knows a master of this broker's name"
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, b"x")
        await pair.settle(40)
        await pair.follows(master, slave)
        counters = await pair.counters(slave)
        assert (counters["replicationFollows"], counters["replicationTrouble"]) == ("true", "")


def followed(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    lines = [(each.levelname, each.getMessage()) for each in caplog.records]
    chosen = [
        (level, line) for level, line in lines if " is followed " in line or " is not followed " in line
    ]
    return [(level, line.partition(" followed ")[0]) for level, line in chosen]


@pytest.mark.parametrize("seconds", [3, 75])
async def test_that_a_master_is_followed_is_as_loud_as_that_it_was_not_and_a_slow_one_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, seconds: int
) -> None:
    caplog.set_level(logging.INFO, "mqframe.replication")
    async with Pair(tmp_path) as pair:
        await pair.start("slave", "SLAVE")
        for _ in range(seconds):
            await pair.settle(1)
        master = await pair.start("master", "ASYNC_MASTER")
        await pair.sent(master, b"x")
        await pair.settle(40)
    level = "INFO" if seconds < QUIET_SECONDS else "ERROR"
    errors = [(level, "the master is not")] * (0 if level == "INFO" else 2)
    expected = [("INFO", "the master is not"), *errors, (level, "a master is")]
    assert followed(caplog)[: len(expected)] == expected


async def test_an_address_of_the_replication_port_that_is_set_counts(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        await pair.start("master", "ASYNC_MASTER")
        slave = await pair.start("slave", "SLAVE", master="127.0.0.1:1")
        await pair.settle(1.1)
        assert "127.0.0.1:1 of the master" in (await pair.counters(slave))["replicationTrouble"]

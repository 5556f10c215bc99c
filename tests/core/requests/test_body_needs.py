"""Needs of requests whose bodies name topics and groups."""

from __future__ import annotations

import pytest

from mqframe.core.requests import REQUESTS
from mqframe.core.wire.frame import Frame


@pytest.mark.parametrize(
    ("code", "body", "needs"),
    [
        (
            34,
            b'{"clientID":"c","producerDataSet":[{"groupName":"p"}],"consumerDataSet":[{"groupName":"g",'
            b'"subscriptionDataSet":[{"topic":"orders"},{"topic":"%RETRY%g"}]}]}',
            ["Group:g Sub", "Topic:orders Sub", "Group:g Sub"],
        ),
        (34, b'{"clientID":"c"}', []),
        (
            41,
            b'{"consumerGroup":"g","mqSet":[{"topic":"orders","brokerName":"a","queueId":0}]}',
            ["Group:g Sub", "Topic:orders Sub"],
        ),
        (42, b'{"consumerGroup":"g"}', ["Group:g Sub"]),
        (46, b'{"group":"g","subscriptionData":{"topic":"orders"}}', ["Group:g Sub", "Topic:orders Sub"]),
        (46, b"{}", []),
    ],
)
def test_what_bodies_name(code: int, body: bytes, needs: list[str]) -> None:
    found = REQUESTS[code].NEEDS.find(Frame(code, body=body))
    assert [f"{need.resource}:{need.name} {'|'.join(need.actions)}" for need in found] == needs

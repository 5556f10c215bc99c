"""What the requests need, for access control."""

from __future__ import annotations

import pytest
from mqframe_assignment.requests import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode

from mqframe.core.requests import Request
from mqframe.core.wire.frame import Frame

BODY = b'{"topic":"orders","consumerGroup":"g"}'


@pytest.mark.parametrize(
    ("kind", "needs"),
    [
        (QueryAssignment, ["Topic:orders Sub", "Group:g Sub"]),
        (SetMessageRequestMode, ["Topic:orders Update", "Group:g Update"]),
    ],
)
def test_bodies_name_topic_and_group(kind: type[Request], needs: list[str]) -> None:
    found = kind.NEEDS.find(Frame(kind.CODE, body=BODY))
    assert [f"{need.resource}:{need.name} {'|'.join(need.actions)}" for need in found] == needs


def test_only_the_change_is_for_operators() -> None:
    kinds = (QueryAssignment, SetMessageRequestMode, GetAllMessageRequestMode)
    assert [kind.NEEDS.operators for kind in kinds] == [False, True, False]

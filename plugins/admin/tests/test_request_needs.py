"""What requests need that name topics and groups in their bodies."""

from __future__ import annotations

import pytest
from mqframe_admin import requests

from mqframe.core.requests import REQUESTS
from mqframe.core.wire.frame import Frame


@pytest.mark.parametrize(
    ("code", "body", "needs"),
    [
        (
            18,
            b'{"topicConfigList":[{"topicName":"a"},{"topicName":"b"}]}',
            ["Topic:a Create", "Topic:b Create"],
        ),
        (200, b'{"groupName":"g"}', ["Group:g Create"]),
        (
            225,
            b'{"groupConfigList":[{"groupName":"g"},{"groupName":"h"}]}',
            ["Group:g Create", "Group:h Create"],
        ),
    ],
)
def test_what_bodies_name(code: int, body: bytes, needs: list[str]) -> None:
    assert REQUESTS[code].__module__ == requests.__name__
    found = REQUESTS[code].NEEDS.find(Frame(code, body=body))
    assert [f"{need.resource}:{need.name} {'|'.join(need.actions)}" for need in found] == needs

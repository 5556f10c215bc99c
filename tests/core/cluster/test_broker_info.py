"""Bodies by which members are told of resets."""

from __future__ import annotations

import pytest

from mqframe.core.cluster.broker_info import PushedOffset, PushedOffsets, pushed_offsets
from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.errors import BodyError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.loose_json import dumps

QUEUE = MessageQueue("t", "b", 2)


def test_both_forms_of_a_reset_say_the_same() -> None:
    for body in (OffsetTableBody({QUEUE: 7}), PushedOffsets([PushedOffset("b", 7, 2, "t")])):
        assert pushed_offsets(dumps(body)) == {QUEUE: 7}


def test_no_body_is_no_queue() -> None:
    assert pushed_offsets(b"") == {}
    assert pushed_offsets(b"{}") == {}


@pytest.mark.parametrize(
    "body",
    [b"[]x", b'{"offsetTable":{"t":3}}', b'{"offsetTable":[{"topic":"t"}]}', b'{"offsetTable":7}', b"\xff"],
)
def test_what_is_no_reset_is_an_error(body: bytes) -> None:
    with pytest.raises(BodyError):
        pushed_offsets(body)

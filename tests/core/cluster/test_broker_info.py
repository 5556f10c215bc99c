"""Bodies by which members are told of resets, and what counters say at a glance."""

from __future__ import annotations

import pytest

from mqframe.core.cluster.broker_info import (
    BrokerLoad,
    PushedOffset,
    PushedOffsets,
    broker_load,
    pushed_offsets,
)
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


@pytest.mark.parametrize("spelling", ["getTransferredTps", "getTransferedTps"])
def test_a_load_is_that_of_the_last_ten_seconds(spelling: str) -> None:
    counters = {
        "brokerVersionDesc": "V5_3_3",
        "putTps": "120.26 100.0 90.0",
        spelling: "7.04 6.0 5.0",
        "commitLogDiskRatio": "0.7512",
    }
    assert broker_load(counters) == BrokerLoad("V5_3_3", 120.3, 7.0, 75.1)


def test_what_a_broker_does_not_tell_is_no_load() -> None:
    assert broker_load({}) == BrokerLoad("", 0.0, 0.0, 0.0)
    assert broker_load({"putTps": " ", "commitLogDiskRatio": "none"}) == BrokerLoad("", 0.0, 0.0, 0.0)

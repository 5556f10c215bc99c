"""The send hook that keeps sharding keys."""

from __future__ import annotations

import pytest
from mqframe_keyed.keys import KEY_PROPERTY
from mqframe_keyed.sending import KeepsShardingKey
from mqframe_testing.conformance import SendHookConformance

from mqframe.core.messages.message import Message
from mqframe.hooks.interfaces import IllegalProperty, SendOperation
from mqframe.hooks.manager import PluginManager


class TestKeepsShardingKey(SendHookConformance):
    def make(self) -> KeepsShardingKey:
        return KeepsShardingKey()


@pytest.mark.parametrize(("key", "kept"), [("ann", "ann"), (7, "7"), (None, None), ("", None), (0, "0")])
def test_each_message_gets_the_key_that_it_is_sent_with(key: object, kept: str | None) -> None:
    operation = SendOperation("shop", [Message("orders", b"a"), Message("orders", b"b")], "sync")
    operation.sharding_key = key
    KeepsShardingKey().prepare(operation)
    wanted = {} if kept is None else {0: {KEY_PROPERTY: kept}, 1: {KEY_PROPERTY: kept}}
    assert operation.take_properties() == wanted


def test_a_key_that_no_property_can_hold_stops_the_send() -> None:
    operation = SendOperation("shop", [Message("orders", b"a")], "sync", sharding_key="a\x01b")
    with pytest.raises(IllegalProperty):
        KeepsShardingKey().prepare(operation)


def test_it_is_found_by_name() -> None:
    assert isinstance(PluginManager().create("send_hook", "sharding_key"), KeepsShardingKey)

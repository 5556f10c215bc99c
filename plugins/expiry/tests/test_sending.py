"""The send hook `expiry`."""

from __future__ import annotations

import pytest
from mqframe_expiry import EXPIRES, ExpiryOptions, SetsExpiry
from mqframe_testing.conformance import SendHookConformance
from mqframe_testing.conformance.hooks import TIME_MS, ConformancePort

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import Message
from mqframe.hooks.interfaces import SendOperation
from mqframe.hooks.manager import PluginManager


class TestSetsExpiry(SendHookConformance):
    def make(self) -> SetsExpiry:
        return SetsExpiry(ExpiryOptions(30.0))


def test_messages_expire_that_do_not_say_so_themselves() -> None:
    hook = SetsExpiry(ExpiryOptions(30.0, ("orders",)))
    hook.attach(ConformancePort())
    operation = SendOperation(
        "shop",
        [Message("orders", b"a"), Message("orders", b"b", properties={EXPIRES: "5"}), Message("bills", b"c")],
        "sync",
    )
    hook.prepare(operation)
    assert operation.take_properties() == {0: {EXPIRES: str(TIME_MS + 30_000)}}


def test_without_topics_all_do() -> None:
    hook = SetsExpiry(ExpiryOptions(1.0))
    operation = SendOperation("shop", [Message("orders", b"a"), Message("bills", b"c")], "sync")
    hook.prepare(operation)
    assert sorted(operation.take_properties()) == [0, 1]


def test_it_is_found_by_name_and_its_options_are_checked() -> None:
    assert isinstance(PluginManager().create("send_hook", ("expiry", {"seconds": 3})), SetsExpiry)
    with pytest.raises(SettingError, match="plugin expiry needs the option seconds"):
        PluginManager().create("send_hook", "expiry")
    with pytest.raises(SettingError, match="seconds = 0: must be above 0"):
        PluginManager().create("send_hook", ("expiry", {"seconds": 0}))

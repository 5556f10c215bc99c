"""What a consume hook does unless it says otherwise."""

from __future__ import annotations

import contextvars

import pytest
from mqframe_testing.conformance import ConsumeHookConformance

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook

CONTEXT = ConsumeContext("billing", [], MessageQueue("orders", "broker-a", 0), "me")


class TestPlainHook(ConsumeHookConformance):
    def make(self) -> ConsumeHook:
        return ConsumeHook()


def test_it_wraps_nothing() -> None:
    before = dict(contextvars.copy_context())
    with ConsumeHook().around(CONTEXT):
        assert dict(contextvars.copy_context()) == before
    with pytest.raises(ValueError, match="listener"), ConsumeHook().around(CONTEXT):
        raise ValueError("listener")


def test_where_it_consumes_is_known() -> None:
    assert (CONTEXT.broadcasting, CONTEXT.ordered, CONTEXT.outcome) == (False, False, "")

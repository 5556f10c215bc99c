"""The suite finds hooks that have something called in place of a listener that does not answer as one."""

from __future__ import annotations

import pytest
from mqframe_testing.conformance.in_place import InPlaceConformance

from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.hooks.interfaces import ConsumeHook


class Skips(ConsumeHook):
    """No listener gets anything."""

    def wrap(self, call, topic, clock, is_async, batch_max):
        async def skip_async(messages, context):
            return ConsumeResult.SUCCESS

        return skip_async if is_async else lambda messages, context: ConsumeResult.SUCCESS


class Silent(ConsumeHook):
    """Says nothing of what became of messages."""

    def wrap(self, call, topic, clock, is_async, batch_max):
        async def silent(messages, context):
            await call(messages, context)

        return silent if is_async else lambda messages, context: None


class Plain(ConsumeHook):
    """Takes all listeners for plain ones."""

    def wrap(self, call, topic, clock, is_async, batch_max):
        return lambda messages, context: ConsumeResult.SUCCESS


class TestSkips(InPlaceConformance):
    def make(self) -> ConsumeHook:
        return Skips()


class TestNothing(InPlaceConformance):
    def make(self) -> ConsumeHook:
        return ConsumeHook()


def suite(hook: type[ConsumeHook]) -> InPlaceConformance:
    made = InPlaceConformance()
    made.make = hook  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize(
    ("hook", "is_async", "error"),
    [(Silent, True, AssertionError), (Silent, False, AssertionError), (Plain, True, TypeError)],
)
def test_what_does_not_answer_as_a_listener_is_found(hook, is_async: bool, error) -> None:
    with pytest.raises(error):
        suite(hook).test_what_it_has_called_in_place_of_a_listener_answers_as_one(is_async)

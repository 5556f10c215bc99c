"""Hooks around listeners: in order and back, and no faulty one stops the listener."""

from __future__ import annotations

import logging

import pytest

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks import isolate_listeners as isolate
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook

CONSUME = ConsumeContext("billing", [], MessageQueue("orders", "broker-a", 0), "c")


class Around(ConsumeHook):
    """Notes when it is entered and left, and fails where it is told to."""

    def __init__(self, name: str, calls: list[str], fails: str = "") -> None:
        self.name = name
        self.calls = calls
        self.fails = fails

    def around(self, context):
        self.note("around")
        return self

    def __enter__(self):
        self.note("enter")

    def __exit__(self, kind, error, trace):
        self.note(f"exit {error!r}".replace("exit None", "exit"))
        return True  # which would swallow the error

    def note(self, what: str) -> None:
        self.calls.append(f"{what} {self.name}")
        if self.fails and what.startswith(self.fails):
            raise RuntimeError(f"{what} failed")


def test_those_that_wrap_are_entered_in_order_and_left_in_reverse() -> None:
    calls: list[str] = []
    entered = isolate.enter_each((Around("a", calls), Around("b", calls)), CONSUME)
    isolate.leave_each(entered, None)
    assert calls == ["around a", "enter a", "around b", "enter b", "exit b", "exit a"]


@pytest.mark.parametrize(
    ("fails", "left"),
    [("around", ["c", "a"]), ("enter", ["c", "a"]), ("exit", ["c", "faulty", "a"])],
)
def test_one_that_fails_to_wrap_is_logged_and_the_others_go_on(fails, left, caplog) -> None:
    calls: list[str] = []
    hooks = (Around("a", calls), Around("faulty", calls, fails), Around("c", calls))
    problem = ValueError("listener")
    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        isolate.leave_each(isolate.enter_each(hooks, CONSUME), problem)
    assert [call for call in calls if call.startswith("exit")] == [
        f"exit {problem!r} {name}" for name in left
    ]
    assert caplog.text.count("plugin='faulty'") == 1
    assert "call='around'" in caplog.text


def test_a_manager_that_lets_the_error_out_again_did_not_fail(caplog) -> None:
    class Again(ConsumeHook):
        def around(self, context):
            return self

        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            raise error

    isolate.leave_each(isolate.enter_each((Again(),), CONSUME), problem := ValueError("listener"))
    assert caplog.text == ""
    assert problem.__context__ is None
    with pytest.raises(KeyboardInterrupt):
        isolate.leave_each([(Again(), Interrupting())], None)


class Interrupting:
    def __enter__(self):
        return self

    def __exit__(self, *problem):
        raise KeyboardInterrupt

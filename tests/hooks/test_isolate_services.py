"""A faulty service or send rule stops no other."""

from __future__ import annotations

import logging
from typing import Any, cast

from mqframe.hooks.interfaces import SendHook
from mqframe.hooks.isolate_services import after_stored, isolated


def test_a_failing_call_of_a_service_is_logged_by_name(caplog) -> None:
    calls: list[int] = []

    def fail(number: int) -> None:
        calls.append(number)
        raise RuntimeError("a bug")

    hook = SendHook()
    hook.name = "counter"
    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        isolated(hook, "arrivals", fail)(3)
    assert calls == [3]
    assert "plugin='counter'" in caplog.text
    assert "arrivals" in caplog.text


def test_a_rule_that_fails_once_the_message_is_stored_is_logged_by_name(caplog) -> None:
    class Rule:
        name = "counting"

        def after(self, record: object, result: object) -> None:
            raise RuntimeError("a bug")

    with caplog.at_level(logging.ERROR, "mqframe.hooks"):
        after_stored(cast("Any", Rule()), cast("Any", None), cast("Any", None))
    assert "plugin='counting'" in caplog.text
    assert "call='after'" in caplog.text

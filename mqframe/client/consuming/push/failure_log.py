"""What is logged of listeners that fail: nothing is kept back, and no traceback is repeated without need."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from mqframe.client.consuming.push.consume_call import ConsumeCall
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.core.consuming.consume_result import ConsumeOutcome
from mqframe.core.errors import DecodeError
from mqframe.core.messages.log_fields import log_fields
from mqframe.log import get_logger

log = get_logger("client")

TRACEBACK_AGAIN_SECONDS: Final = 60.0
"""The traceback of the same failure is shown again after this time."""


class FailureLog:
    """Logs each call that failed in a line. Its traceback goes with the first failure of a topic's listener,
    and again when another kind of exception comes, or from another place, and once a minute.

    Belongs to the loop. `monotonic`: seconds that only ever grow.
    """

    def __init__(self, group: str, monotonic: Callable[[], float]) -> None:
        self._group = group
        self._monotonic = monotonic
        self._shown: dict[str, tuple[object, float]] = {}

    def note(self, call: ConsumeCall, how: ConsumeOutcome, subscription: ListenedTopic, then: str) -> None:
        """The messages of `call`, of `subscription`, were not consumed; `then`: what becomes of them."""
        topic = subscription.topic
        values: dict[str, Any] = {}
        if call.error is not None:
            values["problem"] = _words(call.error)
            # Of a body that is not what it should be, its error says all.
            if not isinstance(call.error, DecodeError) and self._is_news(topic, call.error):
                values["exc_info"] = call.error
        elif how is ConsumeOutcome.NULL:
            values["problem"] = subscription.wrong_result(call.result)
            if inspect.iscoroutine(call.result):
                call.result.close()  # or Python would complain of it, too, in words that help nobody
        log.warning(
            "messages were not consumed",
            outcome=how.value,
            **values,
            then=then,
            **log_fields(call.messages, self._group),
        )

    def _is_news(self, topic: str, problem: BaseException) -> bool:
        now, key = self._monotonic(), (type(problem), _place(problem))
        before = self._shown.get(topic)
        if before is not None and before[0] == key and now - before[1] < TRACEBACK_AGAIN_SECONDS:
            return False
        self._shown[topic] = (key, now)
        return True


def _words(problem: BaseException) -> str:
    try:
        return f"{type(problem).__name__}: {problem}"
    except Exception:  # its __str__ is the application's
        return type(problem).__name__


def _place(problem: BaseException) -> object:
    """File and line where it was raised."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace and (trace.tb_frame.f_code.co_filename, trace.tb_lineno)

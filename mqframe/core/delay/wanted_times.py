"""When a message wants to be delivered, as its properties say it (source: HookUtils.java)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.whole_numbers import whole_number


def wanted_time(properties: dict[str, str], now: int) -> int | None:
    """When the message wants to be delivered, ms; `None` when it does not say.

    Of several properties the delay in seconds counts first, then the one in ms. Raises `Refusal` 13 for one
    that is no number.
    """
    return next((time for _, time in wanted_times(properties, now)), None)


def wanted_times(properties: Mapping[str, str], now: int) -> Iterator[tuple[str, int]]:
    """Each property that says when the message wants to be delivered, with that time, ms. Raises the same."""
    relative = (p.TIMER_DELAY_SEC, 1000, now), (p.TIMER_DELAY_MS, 1, now)
    for name, factor, base in (*relative, (p.TIMER_DELIVER_MS, 1, 0)):
        text = properties.get(name)
        if text is not None:
            number = whole_number(text)
            if number is None:
                raise Refusal(
                    ResponseCode.MESSAGE_ILLEGAL, f"property {name} is {text!r}: give a whole number"
                )
            yield name, base + number * factor

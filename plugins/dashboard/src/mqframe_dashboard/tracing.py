"""What is known of a message's way, as bars on a line of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

WIDTH: Final = 1000.0
"""Of the line, in units of its own."""
LEAST: Final = 6.0
"""Of a bar, so that what took no time can be seen."""
OK, FAILED, OPEN = "ok", "failed", "open"
"""How something ended; OPEN: nobody told, or it goes on."""


@attrs.frozen
class Bar:
    """Something that happened to a message. Times in ms since 1970; `outcome`: OK, FAILED or OPEN."""

    what: str
    who: str
    begin: int
    end: int
    outcome: str = OK

    @property
    def took(self) -> int:
        """How long it took, ms."""
        return self.end - self.begin


@attrs.frozen
class Timeline:
    """Bars below each other, on one line of time from `begin` to `end`, ms since 1970."""

    title: str
    bars: Sequence[Bar]
    kind: str = "timeline"

    @property
    def begin(self) -> int:
        """When the first began."""
        return min((each.begin for each in self.bars), default=0)

    @property
    def end(self) -> int:
        """When the last ended."""
        return max((each.end for each in self.bars), default=0)

    @property
    def took(self) -> int:
        """From the first beginning to the last end, ms."""
        return self.end - self.begin

    def place(self, bar: Bar) -> tuple[str, str]:
        """Where `bar` begins on the line, and how long it is, in units of `WIDTH`."""
        stretch = (WIDTH - LEAST) / max(1, self.end - self.begin)
        left = (bar.begin - self.begin) * stretch
        return f"{left:.1f}", f"{max(LEAST, bar.took * stretch):.1f}"

    def said(self, bar: Bar) -> str:
        """When `bar` began after the first, how long it took, and how it ended, in words."""
        ended = {OK: "", FAILED: ", failed", OPEN: ", its end was not told"}[bar.outcome]
        return f"after {bar.begin - self.begin:,} ms, took {bar.took:,} ms{ended}"


def bars_of(records: Iterable[Any], stored_ms: int | None = None, broker: str = "") -> list[Bar]:
    """Bars for what clients traced, in the order of their beginnings.

    `records`: those of `admin.messages.trace`; `stored_ms`: when `broker` stored the message, ms since 1970.
    """
    found: list[Bar] = []
    begun: dict[str, Any] = {}
    for each in records:
        kind = each.kind.value
        if kind == "SubBefore":
            begun[each.request_id] = each
        elif kind == "SubAfter":
            found.append(_consumed(begun.pop(each.request_id, None), each))
        else:
            ended = {
                "Pub": "produced",
                "Recall": "recalled",
                "EndTransaction": f"{each.transaction_state} told",
            }
            cost = each.cost_ms if kind == "Pub" else 0
            found.append(_bar(ended.get(kind, kind), each, each.time_ms, cost, success=each.success))
    found += [Bar(_attempt(each), _who(each), each.time_ms, each.time_ms, OPEN) for each in begun.values()]
    if stored_ms:
        found.append(Bar("stored", broker, stored_ms, stored_ms))
    return sorted(found, key=lambda bar: (bar.begin, bar.end))


def _bar(what: str, record: Any, begin: int, cost: int, *, success: bool) -> Bar:
    return Bar(what, _who(record), begin, begin + max(0, cost), OK if success else FAILED)


def _consumed(before: Any, after: Any) -> Bar:
    """One call of a listener. `before`: `None` where only its end was told."""
    if before is None:
        return _bar(
            "consumed", after, after.time_ms - max(0, after.cost_ms), after.cost_ms, success=after.success
        )
    return _bar(_attempt(before), before, before.time_ms, after.cost_ms, success=after.success)


def _who(record: Any) -> str:
    return f"{record.group} at {record.client_host}" if record.group else str(record.client_host)


def _attempt(before: Any) -> str:
    return f"consumed, retry {before.retry_times}" if before.retry_times else "consumed"

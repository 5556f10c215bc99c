"""Ports without servers."""

from __future__ import annotations

import pytest
from mqframe_testing.allocation_ports import SharedView
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import RetryError
from mqframe.core.messages.message import MessageQueue

ONE, TWO = MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-b", 0)


async def test_members_share_notes_and_see_the_same_lags() -> None:
    shared = SharedView(ManualClock(), {ONE: 3, TWO: 4}, nameservers=2)
    a, b = shared.port("a"), shared.port("b", ahead_ms=500)
    await a.write_note("k", "v")
    assert await b.notes("k") == ["v", "v"]
    assert await b.notes("other") == ["", ""]
    assert await b.lags("orders") == {ONE: 3, TWO: 4}
    assert b.clock.now_ms() - a.clock.now_ms() == 500
    assert (a.written, b.written) == ([("k", "v")], [])


async def test_who_is_away_does_not_answer() -> None:
    shared = SharedView(ManualClock(), {ONE: 3, TWO: 4}, nameservers=2)
    port = shared.port("a")
    shared.away = {0, "broker-a"}
    await port.write_note("k", "v")
    assert shared.notes == [{}, {"k": "v"}]
    assert await port.lags("orders") == {TWO: 4}
    shared.all_away({"broker-b"})
    for asked in (port.lags("orders"), port.notes("k"), port.write_note("k", "w")):
        with pytest.raises(RetryError):
            await asked


async def test_a_preview_writes_nothing() -> None:
    shared = SharedView(ManualClock())
    port = shared.port("a", preview=True)
    await port.write_note("k", "v")
    assert (port.written, shared.notes) == ([], [{}])

from __future__ import annotations

import asyncio

from mqframe_metrics.broker.stint import Stint


async def test_a_stint_is_over_after_so_long_and_begins_anew_with_the_next_turn() -> None:
    now = 0.0
    stint = Stint(0.5, lambda: now)
    now = 0.4
    assert not stint.is_over
    now = 0.5
    assert stint.is_over
    others: list[str] = []
    asyncio.get_running_loop().call_soon(others.append, "turn")
    now = 7.0
    await stint.next()
    assert others == ["turn"]
    assert not stint.is_over
    now = 7.5
    assert stint.is_over

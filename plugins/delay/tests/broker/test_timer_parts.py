"""Whether a unit of the timer log names a message."""

from __future__ import annotations

import pytest
from broker.conftest import LocalStore
from mqframe_delay.broker.timer_parts import names
from mqframe_delay.rules.timer_layout import Unit
from timers import NOW, TIMER_TOPIC, Timer


@pytest.mark.parametrize(
    ("changes", "right"), [({}, True), ({"size": 40}, False), ({"log_offset": 1}, False)]
)
async def test_a_unit_names_a_message_of_the_timer(changes, right, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        stored = Timer(local).sent(b"a", 3)
        record = local.store.search.record_at(stored.commit_log_offset)
        unit = Unit(-1, 1, NOW, NOW + 3000, stored.commit_log_offset, stored.size)
        assert names(unit._replace(**changes), record) is right
        assert not names(unit, None)
        assert not names(unit, record.replace(TIMER_TOPIC.encode(), b"x" * len(TIMER_TOPIC)))
        assert not names(unit, record[:50])

"""Whether a unit of the timer log names a message."""

from __future__ import annotations

import pytest
from broker.delay.timers import NOW, Timer

from mqframe.broker.delay.timer_parts import names
from mqframe.core.delay.timer_layout import Unit


@pytest.mark.parametrize(
    ("changes", "right"),
    [
        ({}, True),
        ({"time": NOW + 4000}, False),
        ({"time": NOW + 2000, "magic": 3}, True),
        ({"log_offset": 1}, False),
    ],
)
def test_a_unit_names_the_message_of_its_slot(with_store, changes, right):
    async def scenario(local):
        timer = Timer(local)
        stored = timer.sent(b"a", 3)
        record = local.store.record_at(stored.commit_log_offset)
        message = timer.parts.redelivery.read(record, stored.commit_log_offset)
        unit = Unit(-1, 1, NOW, NOW + 3000, stored.commit_log_offset, stored.size)
        assert names(unit._replace(**changes), message) is right
        assert not names(unit, None)

    with_store(scenario)

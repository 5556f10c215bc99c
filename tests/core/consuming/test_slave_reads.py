from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.consuming.slave_reads import suggested_broker

GROUP = SubscriptionGroupConfig("g")
MOVED = SubscriptionGroupConfig("g", broker_id=3, which_broker_when_consume_slowly=4)


@pytest.mark.parametrize("slave_reads", [None, False])
@given(behind=st.integers(0, 2**62), at_slave=st.booleans())
def test_nobody_is_sent_to_a_slave_unless_that_is_switched_on(
    slave_reads: bool | None, behind: int, at_slave: bool
) -> None:
    assert suggested_broker(MOVED, behind, 100, at_slave=at_slave, slave_reads=slave_reads) == 0


@pytest.mark.parametrize(
    ("behind", "at_slave", "usual", "slow"),
    [(0, False, 0, 3), (100, False, 0, 3), (101, False, 1, 4), (75, True, 0, 3), (76, True, 1, 4)],
)
def test_who_reads_what_is_not_in_memory_is_sent_to_the_broker_of_the_slow(
    behind: int, at_slave: bool, usual: int, slow: int
) -> None:
    assert suggested_broker(GROUP, behind, 100, at_slave=at_slave, slave_reads=True) == usual
    assert suggested_broker(MOVED, behind, 100, at_slave=at_slave, slave_reads=True) == slow

import pytest

from mqframe.core.fault_latency import FaultLatency, avoided_ms
from mqframe.testing.manual_clock import ManualClock


@pytest.mark.parametrize(
    ("latency", "avoided"),
    [
        (0, 0),
        (100, 0),
        (549, 0),
        (550, 2000),
        (1800, 5000),
        (3000, 6000),
        (5000, 10000),
        (14999, 10000),
        (15000, 30000),
    ],
)
def test_the_table_of_the_reference(latency, avoided):
    assert avoided_ms(latency) == avoided


def test_a_failed_broker_is_avoided_for_ten_seconds():
    clock = ManualClock()
    faults = FaultLatency(clock)
    faults.update("a", 1, failed=True, reachable=True)
    assert not faults.available("a")
    assert faults.reachable("a")
    assert faults.available("b")
    clock.advance(9.9)
    assert not faults.available("a")
    clock.advance(0.1)
    assert faults.available("a")


def test_a_later_success_does_not_shorten_the_time_but_makes_it_reachable():
    clock = ManualClock()
    faults = FaultLatency(clock)
    faults.update("a", 1, failed=True, reachable=False)
    faults.update("a", 1, failed=False, reachable=True)
    assert not faults.available("a")
    assert faults.reachable("a")

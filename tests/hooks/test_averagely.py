import pytest
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.averagely import Averagely

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(8)]


class TestAveragelyConformance(AllocationConformance):
    def make(self) -> Averagely:
        return Averagely()


@pytest.mark.parametrize(
    ("clients", "shares"),
    [("a", [8]), ("ab", [4, 4]), ("abc", [3, 3, 2]), ("abcdefghij", [1] * 8 + [0] * 2)],
)
def test_shares_are_runs_that_differ_by_one_at_most(clients: str, shares: list[int]) -> None:
    got = [Averagely().allocate("billing", client, QUEUES, list(clients)) for client in clients]
    assert [len(run) for run in got] == shares
    assert [queue for run in got for queue in run] == QUEUES

from mqframe_averagelybycircle import AveragelyByCircle
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(8)]


class TestAveragelyByCircleConformance(AllocationConformance):
    def make(self) -> AveragelyByCircle:
        return AveragelyByCircle()


def test_queues_are_dealt_in_turn() -> None:
    got = [[q.queue_id for q in AveragelyByCircle().allocate("g", c, QUEUES, ["a", "b", "c"])] for c in "abc"]
    assert got == [[0, 3, 6], [1, 4, 7], [2, 5]]

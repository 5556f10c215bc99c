from random import Random

from mqframe_selectors import RandomSelector
from mqframe_testing.conformance import SelectorConformance

from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector
from mqframe.hooks.manager import PluginManager

MESSAGE = Message("orders", b"x")
QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(7)]


class TestRandomConformance(SelectorConformance):
    stable = False

    def make(self) -> QueueSelector:
        return RandomSelector()


def test_random_reaches_every_queue_and_can_be_repeated() -> None:
    def draw(selector: QueueSelector) -> list[MessageQueue]:
        return [selector.select(QUEUES, MESSAGE, None) for _ in range(200)]

    seeded = draw(RandomSelector(RandomSelector.Options(seed=7)))
    assert set(seeded) == set(QUEUES)
    assert draw(RandomSelector(random=Random(7))) == seeded
    assert draw(PluginManager().create("selector", "random", {"seed": "7"})) == seeded

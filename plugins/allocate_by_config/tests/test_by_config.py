import pytest
from mqframe_byconfig import ByConfig, parse_queue
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.manager import PluginManager

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(4)]


class TestByConfigConformance(AllocationConformance):
    covers_all = False
    exclusive = False

    def make(self) -> ByConfig:
        return ByConfig(ByConfig.Options(queues=("orders/room-a@broker-a/0", "orders/room-b@broker-b/1")))


def test_gives_the_configured_queues_in_configured_order() -> None:
    texts = ["orders/broker-a/3", "orders/broker-a/1", "refunds/broker-a/0", "orders/broker-a/9"]
    made = PluginManager().create("allocation", "by_config", {"queues": texts})
    assert made.allocate("billing", "a", QUEUES, ["a", "b"]) == [QUEUES[3], QUEUES[1]]


def test_queues_are_written_topic_broker_id() -> None:
    assert parse_queue("%RETRY%billing/room/a@b/12") == MessageQueue("%RETRY%billing", "room/a@b", 12)


@pytest.mark.parametrize("text", ["", "orders", "orders/0", "orders/broker-a/x", "orders//1", "/broker-a/1"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="topic/broker/queue id"):
        ByConfig.Options(queues=(text,))


def test_at_least_one_queue_must_be_named() -> None:
    with pytest.raises(SettingError, match="at least one queue"):
        ByConfig.Options(queues=())

from __future__ import annotations

from mqframe_pull.lite_pull.queue_watch import QueueWatch

from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "a", n) for n in range(3)]


def test_only_changes_are_noted() -> None:
    watch = QueueWatch()
    assert watch.note("orders", QUEUES[:1])
    assert not watch.note("orders", QUEUES[:1])
    assert watch.note("orders", QUEUES)
    watch.put("orders", print)
    assert watch.note("orders", QUEUES)
    assert watch.topics == ["orders"]
    watch.put("orders", None)
    assert watch.topics == []


async def test_listeners_of_both_kinds_are_told_and_their_errors_go_no_further(caplog) -> None:
    told: list[object] = []

    async def waits(topic, queues) -> None:
        told.append(("async", topic, queues))

    def fails(topic, queues) -> None:
        told.append(("plain", topic, queues))
        raise ZeroDivisionError

    watch = QueueWatch()
    await watch.notify("orders", QUEUES)
    watch.put("orders", waits)
    await watch.notify("orders", QUEUES)
    watch.put("orders", fails)
    await watch.notify("orders", QUEUES)
    assert told == [("async", "orders", QUEUES), ("plain", "orders", QUEUES)]
    assert "a listener for changed queues failed" in caplog.text

"""What tests of pops share: requests, and answers taken apart."""

from __future__ import annotations

from typing import Any

from mqframe_pop.requests import AckMessage, ChangeInvisibleTime, PopMessage
from mqframe_pop.rules.receipt_handle import (
    ReceiptHandle,
    parse_message_offsets,
    parse_start_offsets,
    retry_mark,
)

from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame

KEY = "UNIQ_KEY\x01FD00AA\x02"
"""Properties of a message that has no others."""


def pop_request(topic: str = "t", **fields: Any) -> PopMessage:
    """A pop of all queues that waits for nothing, hidden for 60 s."""
    values: dict[str, Any] = {
        "consumer_group": "g",
        "queue_id": -1,
        "max_msg_nums": 32,
        "invisible_time": 60_000,
        "poll_time": 0,
        "born_time": 0,
        "init_mode": 0,
    }
    return PopMessage(topic=topic, **(values | fields))


class Popped:
    """One message of a pop answer, with its receipt handle as a client makes it."""

    def __init__(self, message: Any, handle: ReceiptHandle, topic: str, group: str) -> None:
        self.message = message
        self.handle = handle
        self.body: bytes = message.body
        self.offset = handle.offset
        self.topic = handle.real_topic(topic, group)
        self.group = group

    def ack(self, **fields: Any) -> AckMessage:
        values: dict[str, Any] = {
            "consumer_group": self.group,
            "topic": self.topic,
            "queue_id": self.handle.queue_id,
            "extra_info": self.handle.text,
            "offset": self.offset,
        }
        return AckMessage(**(values | fields))

    def hide(self, invisible_ms: int, **fields: Any) -> ChangeInvisibleTime:
        values: dict[str, Any] = {
            "consumer_group": self.group,
            "topic": self.topic,
            "queue_id": self.handle.queue_id,
            "extra_info": self.handle.text,
            "offset": self.offset,
            "invisible_time": invisible_ms,
        }
        return ChangeInvisibleTime(**(values | fields))


def popped(answer: Frame, topic: str = "t", group: str = "g") -> list[Popped]:
    """The messages of an answer, in order; none for 209 and 210."""
    ext = answer.ext or {}
    if answer.code in (209, 210):
        assert (answer.body, ext["startOffsetInfo"], ext["msgOffsetInfo"]) == (b"", "", "")
        return []
    assert (answer.code, answer.remark) == (0, "FOUND"), f"{answer.code} {answer.remark}"
    starts = parse_start_offsets(ext["startOffsetInfo"])
    offsets = parse_message_offsets(ext["msgOffsetInfo"])
    found = []
    for message in decode_records(answer.body):
        assert message.topic == topic
        text = message.properties.get("POP_CK")
        if text is None:
            key = (retry_mark(topic), message.queue_id)
            assert message.queue_offset in offsets[key]
            handle = ReceiptHandle(
                starts[key], int(ext["popTime"]), int(ext["invisibleTime"]), int(ext["reviveQid"]), key[0],
                "broker-a", message.queue_id, message.queue_offset,
            )  # fmt: skip
        else:
            handle = ReceiptHandle.parse(text)
        found.append(Popped(message, handle, topic, group))
    assert len(found) == sum(map(len, offsets.values()))
    return found


async def send(world: Any, *bodies: bytes, topic: str = "t", properties: str = KEY, **fields: Any) -> None:
    """Send `bodies`, one after the other."""
    for body in bodies:
        await world.client.ok_send(topic, properties, body=body, **fields)


async def pop(world: Any, **fields: Any) -> list[Popped]:
    """The messages of one pop; `fields`: those of `pop_request`."""
    return popped(await world.client.invoke(pop_request(**fields)), group=fields.get("consumer_group", "g"))


async def committed(world: Any, topic: str = "t", queue_id: int = 0, group: str = "g") -> int | None:
    """Where `group` is in a queue; `None` where the broker knows nothing."""
    request = QueryConsumerOffset(
        consumer_group=group, topic=topic, queue_id=queue_id, set_zero_if_not_found=False
    )
    answer = await world.client.invoke(request)
    return int(answer.ext["offset"]) if answer.code == 0 else None

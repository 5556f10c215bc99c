"""Messages for a given time, as an application sends them and as they come out."""

from __future__ import annotations

from typing import Any

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import decode_records

DAY = 86_400


def delivered(world: Any, topic: str = "t", queue_id: int = 0) -> list[ReceivedMessage]:
    """What consumers of a queue would get, in order."""
    found = world.store.reads.get(topic, queue_id, 0, 10_000, bytes_max=1 << 30)
    return [record for part in found.parts for record in decode_records(part)]


def bodies(world: Any, topic: str = "t") -> list[str]:
    """The bodies of what consumers of the first queue would get."""
    return [record.body.decode() for record in delivered(world, topic)]


async def send(world: Any, body: str, **wanted: object) -> str | None:
    """The recall handle of a message with the properties `wanted`, which the broker took."""
    properties = "".join(f"{name}\x01{value}\x02" for name, value in wanted.items())
    answer = await world.client.send("t", body.encode(), properties)
    assert answer.code == 0, answer.remark
    return answer.ext.get("recallHandle")

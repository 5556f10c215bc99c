"""How far a stream is, told to a consumer group, for tools that show a group's lag."""

from __future__ import annotations

import time
from collections.abc import Callable

from mqframe.core.errors import RetryError
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger
from mqframe_spark.retrying import PAUSES_SECONDS, retrying
from mqframe_spark.wire import Wire

log = get_logger("spark")


def commit_forward(
    wire: Wire,
    group: str,
    queue: MessageQueue,
    offset: int,
    *,
    sleep: Callable[[float], None] = time.sleep,
    pauses: tuple[float, ...] = PAUSES_SECONDS,
) -> None:
    """Have the broker hold `offset` for `group`, unless the group is further already.

    A broker that is away is told of and passed over: the checkpoint is what counts, and the next commit says
    more. Raises `FixError` where a broker refuses.
    """
    try:
        before = retrying(lambda: wire.group_offset(group, queue), sleep=sleep, pauses=pauses)
        if before is None or before < offset:
            retrying(lambda: wire.commit(group, queue, offset), sleep=sleep, pauses=pauses)
    except RetryError as problem:
        log.warning(
            "the group was not told of the progress",
            group=group, topic=queue.topic, broker=queue.broker_name, queue_id=queue.queue_id, offset=offset,
            reason=str(problem),
        )  # fmt: skip

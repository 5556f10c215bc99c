"""The routes that a consumer needs when it starts."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.client.offsets import Broker
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, RouteError
from mqframe.log import get_logger

log = get_logger("client")


async def look_up(instance: Broker, group: str, topics: Iterable[str]) -> None:
    """Have the routes of `topics` in the cache; a topic that does not exist yet is logged and left out.

    Raises `RouteError` when no name server answers.
    """
    for topic in topics:
        try:
            await instance.route(topic)
        except RouteError as problem:
            cause = problem.__cause__
            if not isinstance(cause, AnswerError) or cause.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            # It may be made later; every rebalance looks again.
            log.warning("topic has no route yet", group=group, topic=topic, reason=str(problem))

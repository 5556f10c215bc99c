"""Changes of topics, groups and modes are on disk when they are answered, or the answer says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutine
from typing import Final, cast

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests import Request
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
    UpdateAndCreateTopic,
    UpdateAndCreateTopicList,
    UpdateBrokerConfig,
)
from mqframe.core.requests.insight import UpdateAndGetGroupForbidden
from mqframe.core.requests.pop import SetMessageRequestMode
from mqframe.core.requests.serving import Answer, Call, Handler

CHANGES: Final[tuple[type[Request], ...]] = (
    UpdateAndCreateTopic,
    UpdateAndCreateTopicList,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
    DeleteSubscriptionGroup,
    UpdateAndGetGroupForbidden,
    SetMessageRequestMode,
    UpdateBrokerConfig,
)
"""The requests that change what is kept in tables in one turn, and whose answers promise it."""


def saved_before_answers(
    handlers: Mapping[int, Handler], save: Callable[[], Awaitable[bool]]
) -> dict[int, Handler]:
    """`handlers`, those of `CHANGES` such that `save` has saved the tables before anybody hears of it.

    `save`: saves what changed by then, and says whether it is on disk. They raise `Refusal` 1 when it is not.
    """
    codes = {kind.CODE for kind in CHANGES}
    return {code: _saving(handler, save) if code in codes else handler for code, handler in handlers.items()}


def _saving(handler: Handler, save: Callable[[], Awaitable[bool]]) -> Handler:
    def serve(call: Call) -> Awaitable[Answer]:
        # The change is made in this turn: what the connection asks next finds it.
        return _saved(cast("Answer | Awaitable[Answer]", handler(call)), save)

    return serve


async def _saved(answer: Answer | Awaitable[Answer], save: Callable[[], Awaitable[bool]]) -> Answer:
    saved = False
    try:
        saved = await save()
    finally:
        if not saved and iscoroutine(answer):
            answer.close()  # it would tell others
    if not saved:
        raise not_saved()
    return await answer if isinstance(answer, Awaitable) else answer


def not_saved() -> Refusal:
    """What a change is answered with that is not on disk."""
    return Refusal(
        ResponseCode.SYSTEM_ERROR,
        "the change is in force, but it cannot be saved and ends with the broker: see the broker's"
        " log, free some space or mend the disk, and ask again",
    )

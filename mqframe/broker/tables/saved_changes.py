"""Changes that operators make are on disk when they are answered, or the answer says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutine
from typing import cast

from mqframe.core.requests import REQUESTS
from mqframe.core.requests.lasting import Saved, not_saved
from mqframe.core.requests.serving import Answer, Call, Handler

Save = Callable[[], Awaitable[bool]]
"""Saves what changed by then, and says whether it is on disk."""


def saved_before_answers(handlers: Mapping[int, Handler], saves: Mapping[Saved, Save]) -> dict[int, Handler]:
    """`handlers`, where nobody hears of a change before what its request says (`Request.SAVED`) is saved.

    `saves`: what saves it. Handlers raise `Refusal` 1 when it is not.
    """
    wanted = {code: saves[kind.SAVED] for code, kind in REQUESTS.items() if kind.SAVED in saves}
    return {
        code: _saving(handler, wanted[code]) if code in wanted else handler
        for code, handler in handlers.items()
    }


def _saving(handler: Handler, save: Save) -> Handler:
    def serve(call: Call) -> Awaitable[Answer]:
        # The change is made in this turn: what the connection asks next finds it.
        return _saved(cast("Answer | Awaitable[Answer]", handler(call)), save)

    return serve


async def _saved(answer: Answer | Awaitable[Answer], save: Save) -> Answer:
    saved = False
    try:
        saved = await save()
    finally:
        if not saved and iscoroutine(answer):
            answer.close()  # it would tell others
    if not saved:
        raise not_saved()
    return await answer if isinstance(answer, Awaitable) else answer

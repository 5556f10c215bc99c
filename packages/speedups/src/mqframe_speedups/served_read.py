"""How far the requests of one read are served."""

from __future__ import annotations

from typing import Final

import attrs

from mqframe.core.wire.frame import Body
from mqframe.net.frame_path import AlikeRequests

ANSWERS_BYTES_MAX: Final = 128 * 1024
"""Messages given with one read, bytes; the pulls behind them are served as ever."""
LIMIT_MAX: Final = (1 << 63) - 1
"""The largest limit that compiled code can be told, which nothing reaches; a setting may be any number."""


@attrs.define(eq=False)
class ServedRead:
    """Of a read, `data`, all before byte `start` is served: `requests` with these `answers`; `sent`: sends.

    `batched`: whether some of these are batches.
    `room`: bytes of messages that may still be given with this read; those of sends' answers do not count.
    It moves on with every step, so that nothing is served twice when one fails.
    """

    data: bytes
    start: int = 0
    sent: int = 0
    batched: bool = False
    room: int = ANSWERS_BYTES_MAX
    answers: list[Body] = attrs.field(factory=list)
    requests: list[AlikeRequests] = attrs.field(factory=list)

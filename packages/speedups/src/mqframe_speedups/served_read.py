"""How far the requests of one read are served."""

from __future__ import annotations

from typing import Final

import attrs

from mqframe.core.wire.frame import Body
from mqframe.net.frame_path import AlikeRequests, HoldingPeer
from mqframe_speedups._native import Signers
from mqframe_speedups.callers import KnownCaller

WORDS_BYTES: Final = 8
"""Of a frame, the two lengths before its header."""
ANSWERS_BYTES_MAX: Final = 128 * 1024
"""Messages given with one read, bytes; the pulls behind them are served as ever."""
LIMIT_MAX: Final = (1 << 63) - 1
"""The largest limit that compiled code can be told, which nothing reaches; a setting may be any number."""


@attrs.define(eq=False)
class ServedRead:
    """Of a read, `data` of `peer`, all before byte `start` is served: `requests` with these `answers`.

    `caller`: what access control says of `peer`; `None`: nobody is asked. `sent`: sends that were served.
    `batched`: whether some of these are batches; `at_once`: whether none of their answers waits.
    `room`: bytes of messages that may still be given with this read; those of sends' answers do not count.
    It moves on with every step, so that nothing is served twice when one fails.
    """

    data: bytes
    peer: HoldingPeer
    caller: KnownCaller | None = None
    start: int = 0
    sent: int = 0
    batched: bool = False
    at_once: bool = False
    room: int = ANSWERS_BYTES_MAX
    answers: list[Body] = attrs.field(factory=list)
    requests: list[AlikeRequests] = attrs.field(factory=list)

    @property
    def signers(self) -> Signers | None:
        """Who signs the requests of this connection; `None`: nobody has to."""
        return None if self.caller is None else self.caller.signers

    def tells(self) -> bool:
        """Say what access control says of the next request; whether it can be served now."""
        return self.caller is not None and self.caller.tells(self.peer, self.data, self.start)

"""A shorter way for some requests of a server: frames of a read are served before any is taken apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces.access import Authentication, Authorization


class AlikeRequests(NamedTuple):
    """Requests of one `code` that were served in one go; `flag`: that of each of them.

    `answered`: the code of their answers, unless all of the read are answered with another one than success.
    """

    code: int
    flag: int
    number: int
    answered: int = 0


LateAnswers: TypeAlias = Callable[[Callable[[bytes, int], None]], None]
"""Of requests that have to wait: called with what takes the answers, joined, and the code of all of them."""

LateReply: TypeAlias = Callable[[Callable[[Reply], None]], None]
"""Of one request that has to wait: called with what takes the answer."""


class FramesServed(NamedTuple):
    """What was done with a read: its first `size` bytes were served, with `answers`, joined.

    `unhurried`: whoever asked has work to do before it sends more, on what it was given or is to send.
    """

    size: int
    answers: bytes | LateAnswers
    requests: list[AlikeRequests]
    unhurried: bool = False

    @property
    def number(self) -> int:
        """How many requests were served."""
        return sum([each.number for each in self.requests])


class HoldingPeer(Peer, Protocol):
    """The connection of a read, of which a request may be answered later."""

    def is_free(self, body_bytes: int, /) -> bool:
        """Whether there is room for one more that waits."""

    def hold(self, call: Call, /) -> None:
        """Count it as one that waits."""

    def answer_whole(self, call: Call, answer: bytes) -> None:
        """Send the frame that answers `call`, which was held, with a success."""


class FramePath(Protocol):
    """Serves requests that it knows to be ordinary as their handlers would, to the byte."""

    def may_take(self, data: bytes, start: int) -> bool:
        """Whether the frame at byte `start` may be one that it serves: asked behind each that it left."""

    def take(self, data: bytes, start: int, peer: HoldingPeer, received: float) -> FramesServed | None:
        """Serve whole frames from byte `start` of `data` on, up to the first that it leaves to others.

        `received`: monotonic seconds when it came. `None`: it leaves them all. Does not raise.
        """

    def take_one(
        self, request: SendMessageV2, body: Body, peer: Peer, received: float
    ) -> Reply | LateReply | None:
        """Serve a request that is no frame; `None`: it leaves that. As `take` otherwise."""

    def enforce(self, who: Authentication | None, what: Authorization | None) -> bool:
        """Take from now on only what both would let pass; `False`: it cannot tell what that is."""


@runtime_checkable
class BringsFramePath(Protocol):
    """A broker service that has one for sends and pulls; asked once, when the broker's parts are made."""

    def frame_path(self, sends: Any, pulls: Any, /) -> FramePath | None:
        """The shorter way of what its `SendProcessor` and `PullProcessor` do; `None`: there is none."""

"""A request as its handler sees it, and what the handler says to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from mqframe.core.codes import FLAG_ONEWAY, ResponseCode
from mqframe.core.errors import BodyError, FixError, HeaderError, MessageError, Refusal
from mqframe.core.frame import Body, Frame
from mqframe.core.requests import Header, decode_fields, encode_fields

if TYPE_CHECKING:
    from mqframe.net.peer import Peer

H = TypeVar("H", bound=Header)


class Reply:
    """An answer: code, header fields (as `header`, as text in `ext`, or both), remark and body.

    A body may be given as a list of parts; a part may be a view of a mapped file, for it is written or copied
    before the turn of the handler ends.
    """

    __slots__ = ("body", "code", "ext", "header", "remark")

    def __init__(
        self,
        code: int = ResponseCode.SUCCESS,
        header: Header | None = None,
        *,
        ext: dict[str, str] | None = None,
        remark: str | None = None,
        body: Body | list[Body] = b"",
    ) -> None:
        self.code = code
        self.header = header
        self.ext = ext
        self.remark = remark
        self.body = body

    def fields(self) -> dict[str, str] | None:
        """All header fields as text; `None` where there are none."""
        if self.header is None:
            return self.ext
        fields = encode_fields(self.header)
        if self.ext:
            fields.update(self.ext)
        return fields


class Call:
    """One request of a peer.

    `frame`: the request; its body is a view that stays valid. `peer`: the connection it came by. `received`:
    monotonic seconds when its bytes were read. `answered`: whether `reply` was called.
    """

    __slots__ = ("answered", "frame", "held_bytes", "peer", "received")

    def __init__(self, frame: Frame, peer: Peer, received: float) -> None:
        self.frame = frame
        self.peer = peer
        self.received = received
        self.answered = False
        self.held_bytes = -1  # body bytes counted against the peer's limit; -1: not counted

    @property
    def oneway(self) -> bool:
        """Whether the sender wants no answer."""
        return bool(self.frame.flag & FLAG_ONEWAY)

    def fields(self, kind: type[H]) -> H:
        """The header fields as a `kind`. Raises `HeaderError`."""
        return decode_fields(self.frame.ext, kind)

    def reply(self, reply: Reply) -> None:
        """Answer, once, now or later, on the loop's thread. No effect on a one-way call or a closed peer.

        Raises `RuntimeError` the second time.
        """
        if self.answered:
            raise RuntimeError(f"request {self.frame.code} of {self.peer.address} was answered already")
        self.answered = True
        self.peer.answer(self, reply)


Handler = Callable[[Call], "Reply | Awaitable[Reply] | None"]
"""Serves one request kind: gives the answer, an awaitable of it, or `None` when `call.reply` comes later."""


def failure_reply(problem: Exception) -> Reply | None:
    """The answer to a request that `problem` stopped; `None` when it is not an error of the request."""
    if isinstance(problem, Refusal):
        return Reply(problem.code, remark=problem.remark)
    if isinstance(problem, MessageError):
        return Reply(ResponseCode.MESSAGE_ILLEGAL, remark=str(problem))
    if isinstance(problem, HeaderError | BodyError | FixError):
        return Reply(ResponseCode.SYSTEM_ERROR, remark=str(problem))
    return None

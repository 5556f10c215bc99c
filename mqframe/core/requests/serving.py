"""How requests are served: the marker of handlers, the call that a handler gets, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import ValidationError, convert

from mqframe.core.codes import FLAG_ONEWAY, ResponseCode
from mqframe.core.errors import HeaderError, Refusal
from mqframe.core.requests.fields import Header, Request, encode_fields
from mqframe.core.requests.needs import Need
from mqframe.core.requests.peer import Peer
from mqframe.core.wire import bodies, loose_json
from mqframe.core.wire.frame import Body, Frame

KEPT_FIELDS_MAX: Final = 32
"""Header fields, and characters of them, that are kept of a request that waits, for RPC hooks."""
KEPT_CHARS_MAX: Final = 2048

B = TypeVar("B")
F = TypeVar("F", bound=Callable[..., Any])


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

    def joined_body(self) -> Body:
        """The whole body; a copy where it is given in parts."""
        return b"".join(self.body) if isinstance(self.body, list) else self.body


Answer = Reply | Header | bodies.Body
"""What a handler answers: a whole `Reply`, or what a success has alone, its header or its JSON body."""


def as_reply(answer: Answer) -> Reply:
    """The whole answer that `answer` is short for."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, Header):
        return Reply(header=answer)
    return Reply(body=loose_json.dumps(answer))


class Call:
    """One request of a peer.

    `frame`: the request; its body is a view that stays valid. `peer`: the connection it came by. `received`:
    monotonic seconds when its bytes were read. `queued`: seconds of the processor that went since then to the
    requests of other connections, which were served first. `answered`: whether `reply` was called. `waited`:
    whether it waited for messages. `user`: who sent it; "" where nobody asked,
    set before the request is judged where a service in the broker has seen to that. `judge`: raises `Refusal`
    unless that user is granted all of some needs; `None` where everything is. `on_cancel`: set by whoever
    lets the call wait and can drop it; called when nobody wants the answer, though the peer is still there.
    `on_answer`: called with what `reply` is given, before it leaves; not where a handler returns its answer.
    """

    __slots__ = (
        "answered", "frame", "held_bytes", "judge", "on_answer", "on_cancel", "peer", "queued", "received",
        "user", "waited",
    )  # fmt: skip

    def __init__(self, frame: Frame, peer: Peer, received: float, queued: float = 0.0) -> None:
        self.frame = frame
        self.peer = peer
        self.received = received
        self.queued = queued
        self.answered = False
        self.waited = False
        self.user = ""
        self.judge: Callable[[Call, Sequence[Need]], None] | None = None
        self.on_cancel: Callable[[], object] | None = None
        self.on_answer: Callable[[Reply], object] | None = None
        self.held_bytes = -1  # body bytes counted against the peer's limit; -1: not counted

    @property
    def oneway(self) -> bool:
        """Whether the sender wants no answer."""
        return bool(self.frame.flag & FLAG_ONEWAY)

    def demand(self, *needs: Need) -> None:
        """To be called by a handler that finds out what is asked for: a message named by where it lies.

        Raises `Refusal` unless the sender is granted all of `needs`.
        """
        if self.judge is not None:
            self.judge(self, needs)

    def let_go(self) -> None:
        """The request waits now, and was taken apart: do not keep its body and long header fields so long."""
        self.waited = True
        frame = self.frame
        frame.body = b""
        ext = frame.ext
        if ext and (len(ext) > KEPT_FIELDS_MAX or sum(map(len, ext.values())) > KEPT_CHARS_MAX):
            frame.ext = {}

    def body(self, kind: type[B]) -> B:
        """The JSON body as a `kind`. Raises `BodyError`."""
        return loose_json.decode(memoryview(self.frame.body), kind, loose_json.DIALECT_BYTES_MAX)

    def reply(self, reply: Reply) -> None:
        """Answer, once, now or later, on the loop's thread. No effect on a one-way call or a closed peer.

        Raises `RuntimeError` the second time.
        """
        if self.answered:
            raise RuntimeError(f"request {self.frame.code} of {self.peer.address} was answered already")
        self.answered = True
        if self.on_answer is not None:
            self.on_answer(reply)
        self.peer.answer(self, reply)


Handler = Callable[[Call], "Answer | Awaitable[Answer] | None"]
"""Serves one request: returns the answer, an awaitable of it, or `None` when `call.reply` comes later."""


def serves(*kinds: type[Request]) -> Callable[[F], F]:
    """Mark a method as the handler of `kinds`. It is called with the decoded fields and the `Call`.

    It returns what a `Handler` returns. Errors become answers: a `Refusal` with its code, malformed fields
    and bodies and every other error with SYSTEM_ERROR.
    """

    def mark(handler: F) -> F:
        handler.request_kinds = kinds  # type: ignore[attr-defined]
        return handler

    return mark


def handlers_of(*owners: object, body_bytes_max: int | None = None) -> dict[int, Handler]:
    """The handlers of all `owners`, objects with marked methods or marked functions, by request code.

    `body_bytes_max`: a longer body of text, which is JSON mostly, is refused; bodies of messages have limits
    of their own. Raises `ValueError` when two serve the same request.
    """
    table: dict[int, Handler] = {}
    for owner in owners:
        names = [name for name in dir(type(owner)) if _kinds(getattr(type(owner), name, None))]
        for handler in [getattr(owner, name) for name in names] or [owner]:
            for kind in _kinds(handler):
                if kind.CODE in table:
                    raise ValueError(f"{kind.__name__} is served twice, once by {handler!r}")
                serve = _decoding(kind, handler)
                if body_bytes_max is not None and kind.has_text_body():
                    serve = _limiting(kind, serve, body_bytes_max)
                table[kind.CODE] = serve
    return table


def _kinds(handler: object) -> tuple[type[Request], ...]:
    found = getattr(handler, "request_kinds", ())
    return found if isinstance(found, tuple) else ()


def _limiting(kind: type[Request], handler: Handler, body_bytes_max: int) -> Handler:
    def serve(call: Call) -> Any:
        size = len(call.frame.body)
        if size > body_bytes_max:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"the body of {kind.__name__} ({kind.CODE}) has {size} bytes, at most {body_bytes_max} are "
                "read (net.body_bytes_max); send it in parts",
            )
        return handler(call)

    return serve


def _decoding(kind: type[Request], handler: Callable[[Any, Call], Any]) -> Handler:
    # Decodes in place: sends and pulls pass here, and a call of decode_fields more is one a request.
    def serve(call: Call) -> Any:
        try:
            fields = convert(call.frame.ext or {}, kind, strict=False)
        except ValidationError as problem:
            raise HeaderError(f"{kind.__name__}: {problem}") from None
        return handler(fields, call)

    return serve

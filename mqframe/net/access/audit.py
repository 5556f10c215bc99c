"""The audit log: who changed what, from where, and how that ended. Its logger is `mqframe.audit`."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Final

from mqframe.core.config.secret_names import holds_secret, is_secret_name
from mqframe.core.errors import Refusal
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.failures import refused
from mqframe.core.requests.fields import LINES, Request
from mqframe.core.requests.serving import Answer, Call, Handler, Reply
from mqframe.core.wire.frame import Body
from mqframe.log import get_logger

log = get_logger("audit")

SHOWN_CHARS: Final = 500
"""Most characters of a value from a request that are written."""
READ_BYTES: Final = 64 * 1024
"""Most bytes of a body that are read for it: whoever may change nothing can send as much as fits a frame."""
_SECRET_BODIES: Final = frozenset({"UserInfo"})
_HIDDEN: Final = "(secret)"


def short(text: str) -> str:
    """`text` for a log: whoever sent it chose how long it is."""
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text)} characters)"


def audited(handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """`handlers`, those of requests that change something lasting such that each leaves a line."""
    kinds = {code: REQUESTS[code] for code in handlers if code in REQUESTS}
    return {
        code: _telling(kinds[code], handler) if code in kinds and kinds[code].NEEDS.changes else handler
        for code, handler in handlers.items()
    }


def tell_refusal(kind: type[Request], call: Call, refusal: Refusal) -> None:
    """A change of this kind that its sender may not make."""
    _tell(kind, call, _facts(kind, call), f"refused: {refusal.remark}")


def _telling(kind: type[Request], handler: Handler) -> Handler:
    def serve(call: Call) -> Answer | Awaitable[Answer] | None:
        # Taken now: a handler may let go of the request while it waits.
        facts = _facts(kind, call)
        try:
            answer = handler(call)
        except Exception as problem:
            _tell(kind, call, facts, f"failed: {refused(problem).remark}")
            raise
        if isinstance(answer, Awaitable):
            return _told_later(kind, call, facts, answer)
        _tell(kind, call, facts, _outcome(answer))
        return answer

    return serve


async def _told_later(
    kind: type[Request], call: Call, facts: dict[str, str], answer: Awaitable[Answer]
) -> Answer:
    try:
        found = await answer
    except BaseException as problem:
        _tell(kind, call, facts, f"failed: {problem or type(problem).__name__}")
        raise
    _tell(kind, call, facts, _outcome(found))
    return found


def _outcome(answer: Answer | None) -> str:
    if isinstance(answer, Reply) and answer.code:
        return f"failed: {answer.remark or answer.code}"
    return "done"


def _facts(kind: type[Request], call: Call) -> dict[str, str]:
    """What a request says: its fields, and its body where that is text, both without what is secret."""
    frame = call.frame
    ext = frame.ext or {}
    shown = {name: ext[name] for name in kind.__struct_encode_fields__ if name in ext}
    facts = {name: short(_shown(name, value)) for name, value in shown.items()}
    if kind.has_text_body() and kind.BODY not in _SECRET_BODIES:
        facts["body"] = _shown_body(frame.body, kind.BODY == LINES)
    return facts


def _shown_body(body: Body, of_lines: bool) -> str:
    text = bytes(memoryview(body)[:READ_BYTES]).decode("utf-8", "replace").strip()
    is_cut = len(body) > READ_BYTES
    if of_lines:
        lines = text.splitlines()
        # That a line is secret shows from the whole of it.
        text = "\n".join(map(_shown_line, lines[:-1] if is_cut else lines))
    return f"{text[:SHOWN_CHARS]}… ({len(body)} bytes)" if is_cut else short(text)


def _shown_line(line: str) -> str:
    name, equals, value = line.partition("=")
    return f"{name}{equals}{_shown(name, value)}"


def _shown(name: str, value: str) -> str:
    return _HIDDEN if value and (is_secret_name(name) or holds_secret(value)) else value


def _tell(kind: type[Request], call: Call, facts: dict[str, str], outcome: str) -> None:
    log.info(kind.__name__, user=call.user, peer=call.peer.address, outcome=short(outcome), request=facts)

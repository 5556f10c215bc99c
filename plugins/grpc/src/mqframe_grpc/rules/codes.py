"""What a call is answered: the status of a refusal, of a broker's answer, of several results together."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AccessError, FixError, answer_error
from mqframe.core.printable import shortened
from mqframe_grpc.proto import messages as m

TEXT_CHARACTERS_MAX: Final = 2000
"""So much text a status has; what was asked, and may be told in it, can be megabytes."""

_OF_BROKERS: Final[dict[int, m.Code]] = {
    ResponseCode.SUCCESS: m.Code.OK,
    ResponseCode.SYSTEM_BUSY: m.Code.TOO_MANY_REQUESTS,
    ResponseCode.FLOW_CONTROL: m.Code.TOO_MANY_REQUESTS,
    ResponseCode.POLLING_FULL: m.Code.TOO_MANY_REQUESTS,
    # A store that is full, stops or is a slave's: clients ask again at once unless they are told to wait.
    ResponseCode.SERVICE_NOT_AVAILABLE: m.Code.TOO_MANY_REQUESTS,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: m.Code.NOT_IMPLEMENTED,
    ResponseCode.FLUSH_DISK_TIMEOUT: m.Code.MASTER_PERSISTENCE_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: m.Code.SLAVE_PERSISTENCE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: m.Code.HA_NOT_AVAILABLE,
    ResponseCode.MESSAGE_ILLEGAL: m.Code.BAD_REQUEST,
    ResponseCode.INVALID_PARAMETER: m.Code.BAD_REQUEST,
    ResponseCode.NO_PERMISSION: m.Code.FORBIDDEN,
    ResponseCode.TOPIC_NOT_EXIST: m.Code.TOPIC_NOT_FOUND,
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: m.Code.ILLEGAL_FILTER_EXPRESSION,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: m.Code.CONSUMER_GROUP_NOT_FOUND,
    # Any other code makes Java's clients acknowledge again every second, for ever.
    ResponseCode.NO_MESSAGE: m.Code.INVALID_RECEIPT_HANDLE,
    ResponseCode.PULL_NOT_FOUND: m.Code.MESSAGE_NOT_FOUND,
    ResponseCode.POLLING_TIMEOUT: m.Code.MESSAGE_NOT_FOUND,
}
_TOO_LARGE: Final = re.compile(r"\b(body has|properties have) \d+ bytes, ")
"""How brokers of this project begin the remark to MESSAGE_ILLEGAL for what is over a limit of theirs."""


class Rejected(FixError):
    """What was asked is answered with a status.

    `code`: why; `text`: what was wrong and what would be right, for the people who read the client's log.
    """

    def __init__(self, code: m.Code, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def no_topic(topic: str) -> Rejected:
    """What is said of a topic that there is not."""
    return Rejected(
        m.Code.TOPIC_NOT_FOUND,
        f"there is no topic {topic[:200]}, and gRPC makes none at its first use: `mqframe topic create`",
    )


def status(code: m.Code, text: str = "") -> m.Status:
    """The status of `code`, with its name where there is no `text`; cut off behind `TEXT_CHARACTERS_MAX`.

    It is to be made part of an answer, which copies it, and not to be changed.
    """
    if not text:
        return _bare(code)
    said = shortened(text, TEXT_CHARACTERS_MAX)
    if not said.isascii():
        said = said.encode("utf-8", "replace").decode()
    return m.Status(code=code, message=said)


@cache
def _bare(code: m.Code) -> m.Status:
    return m.Status(code=code, message=code.name)


def rejected(code: int, remark: str | None) -> Rejected:
    """What a broker's answer with another code than success means to a client of the door.

    Refusals of access are told from other missing permissions by their `remark`, as the remoting clients do.
    A code that says nothing to clients becomes INTERNAL_SERVER_ERROR. Source: ResponseBuilder.java, which has
    fewer of these.
    """
    if isinstance(answer_error(code, remark, "broker"), AccessError):
        found = m.Code.UNAUTHORIZED
    elif code == ResponseCode.MESSAGE_ILLEGAL and (large := _TOO_LARGE.search(remark or "")):
        of_body = large[1].startswith("body")
        found = m.Code.MESSAGE_BODY_TOO_LARGE if of_body else m.Code.MESSAGE_PROPERTIES_TOO_LARGE
    else:
        found = _OF_BROKERS.get(code, m.Code.INTERNAL_SERVER_ERROR)
    return Rejected(found, remark or f"the broker answered {_name(code)}")


def overall(codes: Collection[m.Code]) -> m.Status:
    """The status of a call whose parts had `codes`: theirs when it is one, else MULTIPLE_RESULTS.

    No part at all is INTERNAL_SERVER_ERROR. Source: SendMessageActivity.java, AckMessageActivity.java.
    """
    found = set(codes)
    if not found:
        return status(m.Code.INTERNAL_SERVER_ERROR, "nothing was done: there are no results")
    return status(found.pop() if len(found) == 1 else m.Code.MULTIPLE_RESULTS)


def _name(code: int) -> str:
    try:
        return f"{code} {ResponseCode(code).name}"
    except ValueError:
        return str(code)

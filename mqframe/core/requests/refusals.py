"""What a refused request means to its caller: where a broker is too old for it, which version has it."""

from __future__ import annotations

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, answer_error
from mqframe.core.requests.fields import ONLY_OURS, Request
from mqframe.core.versions import version_number, version_text
from mqframe.core.wire.frame import Frame


def refusal(request: Request, answer: Frame, address: str) -> AnswerError:
    """The error for `answer`, by which `address` did not do what `request` asks for."""
    remark = answer.remark
    if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED and request.SINCE:
        what, this = f"{type(request).__name__} ({request.CODE})", version_text(answer.version)
        if request.SINCE == ONLY_OURS:
            remark = f"{what} is served by {ONLY_OURS} alone: {remark or 'no remark'}"
        elif answer.version < version_number(request.SINCE):
            remark = f"{what} is served from Apache RocketMQ {request.SINCE} on, and this is {this}"
        else:
            remark = (
                f"{what} is not offered there, though {this} can serve it: the service is missing, "
                f"blocked or switched off ({remark or 'no remark'})"
            )
    return answer_error(answer.code, remark, address)


def is_unserved(problem: AnswerError) -> bool:
    """Whether a peer does not know the kind of the request at all."""
    return problem.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED

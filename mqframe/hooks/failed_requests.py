"""What is answered to a request that could not be served."""

from __future__ import annotations

from mqframe.core.requests.failures import is_expected, refused
from mqframe.core.requests.serving import Call, Reply
from mqframe.log import get_logger

log = get_logger("net")


def failure_reply(problem: Exception, call: Call) -> Reply:
    """The answer to `call`, which `problem` stopped; what is no fault of the request is logged."""
    if not is_expected(problem):
        log.error("request failed", code=call.frame.code, peer=call.peer.address, exc_info=problem)
    refusal = refused(problem)
    return Reply(refusal.code, remark=refusal.remark)

"""The send hook and the consume hook `trace`: who sent and who consumed a message."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_trace.consuming import ConsumeTrace
from mqframe_trace.outbox import TraceOptions
from mqframe_trace.sending import SendTrace

__all__ = ["ConsumeTrace", "SendTrace", "TraceOptions", "register_consume_hooks", "register_send_hooks"]


@hookimpl
def register_send_hooks() -> Factories:
    """The hook of producers."""
    return {"trace": SendTrace}


@hookimpl
def register_consume_hooks() -> Factories:
    """The hook of consumers."""
    return {"trace": ConsumeTrace}

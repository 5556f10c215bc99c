"""Runs tuples of hooks so that a faulty hook cannot stop what it watches.

Before-hooks run in order, after-hooks in reverse. An exception of a hook is logged with its name and goes
no further, but for the one refusal error that its kind declares. Callers resolve the tuples once and test
them for truth first, so that nothing is spent where there is no hook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from mqframe.core.errors import MessageError, Refusal
from mqframe.core.messages.message import Message, with_properties
from mqframe.core.sending.encoding import message_properties
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import (
    ClientHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    HookPort,
    IllegalProperty,
    RpcHook,
    SendContext,
    SendHook,
    SendOperation,
    SendStopped,
    TransactionEnd,
)
from mqframe.log import get_logger

_log = get_logger("hooks")
C = TypeVar("C")
UNIQUE_ID: Final = "0" * 32
"""As long as the unique keys of messages are."""


def hook_name(hook: object) -> str:
    """The name of a hook for logs: its `name`, else its module and class."""
    own = getattr(hook, "name", "")
    return str(own) if own else f"{type(hook).__module__}.{type(hook).__qualname__}"


def hook_failed(kind: str, hook: Any, call: str, problem: Exception) -> None:
    """Log that `call` of a hook of this kind raised `problem`."""
    _log.error("hook failed", kind=kind, plugin=hook_name(hook), call=call, exc_info=problem)


async def attach_hook(hook: ClientHook[Any], port: HookPort) -> None:
    """Hand a hook its port, and wait for what it wants to do first."""
    try:
        begins = hook.attach(port)
        if begins is not None:
            await begins
    except Exception as problem:  # isolation boundary: a hook only watches
        hook_failed("hook", hook, "attach", problem)


def detach_hook(hook: ClientHook[Any]) -> None:
    """Tell a hook that its client stops."""
    try:
        hook.detach()
    except Exception as problem:  # isolation boundary: a hook only watches
        hook_failed("hook", hook, "detach", problem)


def before_each(hooks: Sequence[ClientHook[C]], context: C) -> None:
    """Every `before` of send or consume hooks, in order."""
    for hook in hooks:
        try:
            hook.before(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            hook_failed(_kind(context), hook, "before", problem)


def after_each(hooks: Sequence[ClientHook[C]], context: C) -> None:
    """Every `after` of send or consume hooks, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.after(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            hook_failed(_kind(context), hook, "after", problem)


def prepare_each(hooks: Sequence[SendHook], operation: SendOperation) -> dict[int, dict[str, str]]:
    """Every `prepare`, in order. The properties that they set, by index of the message.

    Raises the first `SendStopped`, which names its hook, as one does whose properties are too long.
    """
    everything: dict[int, dict[str, str]] = {}
    for hook in hooks:
        try:
            hook.prepare(operation)
            given = operation.take_properties()
            operation.messages = _with_properties(operation.messages, given)
        except SendStopped as problem:
            problem.args = (f"send hook {hook_name(hook)}: {problem}",)
            raise
        except Exception as problem:  # isolation boundary: only SendStopped may stop a send
            operation.take_properties()
            hook_failed("send_hook", hook, "prepare", problem)
        else:
            for index, properties in given.items():
                everything.setdefault(index, {}).update(properties)
    return everything


def finish_each(hooks: Sequence[SendHook], operation: SendOperation) -> None:
    """Every `finish`, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.finish(operation)
        except Exception as problem:  # isolation boundary: a hook only watches
            hook_failed("send_hook", hook, "finish", problem)


def transaction_ended(hooks: Sequence[SendHook], end: TransactionEnd) -> None:
    """Every `transaction_ended`, in order."""
    for hook in hooks:
        try:
            hook.transaction_ended(end)
        except Exception as problem:  # isolation boundary: a hook only watches
            hook_failed("send_hook", hook, "transaction_ended", problem)


def check_forbidden(hooks: Sequence[ForbiddenHook], context: ForbiddenContext) -> None:
    """Every check in order. Raises the first `Forbidden`; anything else is logged."""
    for hook in hooks:
        try:
            hook.check(context)
        except Forbidden:
            raise
        except Exception as problem:  # isolation boundary: only Forbidden may stop a send
            hook_failed("forbidden_hook", hook, "check", problem)


def before_rpc(hooks: Sequence[RpcHook], address: str, request: Frame, *, serving: bool) -> None:
    """Every `before` in order. Raises the first `Refusal` where `serving`; anything else is logged."""
    for hook in hooks:
        try:
            hook.before(address, request)
        except Exception as problem:  # isolation boundary: only a server's hook may refuse
            if serving and isinstance(problem, Refusal):
                raise
            hook_failed("rpc_hook", hook, "before", problem)


def after_rpc(hooks: Sequence[RpcHook], address: str, request: Frame, answer: Frame | None) -> None:
    """Every `after`, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.after(address, request, answer)
        except Exception as problem:  # isolation boundary: a hook only watches
            hook_failed("rpc_hook", hook, "after", problem)


def _with_properties(
    messages: Sequence[Message], given: Mapping[int, Mapping[str, str]]
) -> Sequence[Message]:
    if not given:
        return messages
    changed = list(messages)
    for index, properties in given.items():
        changed[index] = with_properties(changed[index], properties)
        try:
            message_properties(changed[index], UNIQUE_ID)
        except MessageError as problem:  # too long together
            raise IllegalProperty(str(problem)) from None
    return changed


def _kind(context: object) -> str:
    return "send_hook" if isinstance(context, SendContext) else "consume_hook"

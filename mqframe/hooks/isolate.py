"""Runs tuples of hooks so that a faulty hook cannot stop what it watches.

Before-hooks run in order, after-hooks in reverse. An exception of a hook is logged with its name and goes
no further, but for the one refusal error that its kind declares. Callers resolve the tuples once and test
them for truth first, so that nothing is spent where there is no hook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from mqframe.core.errors import MessageError, Refusal
from mqframe.core.messages.message import Message, with_properties
from mqframe.core.sending.encoding import message_properties
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import (
    ClientHook,
    ConsumeContext,
    ConsumeHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    HookPort,
    IllegalProperty,
    PendingRecord,
    RpcHook,
    SendContext,
    SendHook,
    SendOperation,
    SendRule,
    StoredAt,
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


def attach_hook(hook: ClientHook[Any], port: HookPort) -> None:
    """Hand a hook its port."""
    try:
        hook.attach(port)
    except Exception as problem:  # isolation boundary: a hook only watches
        _failed("hook", hook, "attach", problem)


def detach_hook(hook: ClientHook[Any]) -> None:
    """Tell a hook that its client stops."""
    try:
        hook.detach()
    except Exception as problem:  # isolation boundary: a hook only watches
        _failed("hook", hook, "detach", problem)


def before_each(hooks: Sequence[ClientHook[C]], context: C) -> None:
    """Every `before` of send or consume hooks, in order."""
    for hook in hooks:
        try:
            hook.before(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed(_kind(context), hook, "before", problem)


def after_each(hooks: Sequence[ClientHook[C]], context: C) -> None:
    """Every `after` of send or consume hooks, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.after(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed(_kind(context), hook, "after", problem)


def prepare_each(hooks: Sequence[SendHook], operation: SendOperation) -> dict[int, dict[str, str]]:
    """Every `prepare`, in order. The properties that they set, by index of the message.

    Raises the first `IllegalProperty`, which names its hook, as one does whose properties are too long.
    """
    everything: dict[int, dict[str, str]] = {}
    for hook in hooks:
        try:
            hook.prepare(operation)
            given = operation.take_properties()
            operation.messages = _with_properties(operation.messages, given)
        except IllegalProperty as problem:
            raise IllegalProperty(f"send hook {hook_name(hook)}: {problem}") from problem
        except Exception as problem:  # isolation boundary: only IllegalProperty may stop a send
            operation.take_properties()
            _failed("send_hook", hook, "prepare", problem)
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
            _failed("send_hook", hook, "finish", problem)


def transaction_ended(hooks: Sequence[SendHook], end: TransactionEnd) -> None:
    """Every `transaction_ended`, in order."""
    for hook in hooks:
        try:
            hook.transaction_ended(end)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed("send_hook", hook, "transaction_ended", problem)


Entered = tuple[ConsumeHook, AbstractContextManager[object]]


def enter_each(hooks: Sequence[ConsumeHook], context: ConsumeContext) -> list[Entered]:
    """Every `around`, in order. Those that were entered, for `leave_each`."""
    entered: list[Entered] = []
    for hook in hooks:
        try:
            manager = hook.around(context)
            manager.__enter__()
            entered.append((hook, manager))
        except Exception as problem:  # isolation boundary: the listener is called all the same
            _failed("consume_hook", hook, "around", problem)
    return entered


def leave_each(entered: Sequence[Entered], error: BaseException | None) -> None:
    """Leave what was entered, last hook first; `error`: what the listener raised. It stays what it is."""
    kind = None if error is None else type(error)
    trace = None if error is None else error.__traceback__
    for hook, manager in reversed(entered):
        try:
            manager.__exit__(kind, error, trace)
        except BaseException as problem:  # isolation boundary: a hook neither hides nor changes an error
            if problem is error:
                continue  # let out again, as some managers do
            if not isinstance(problem, Exception):
                raise
            _failed("consume_hook", hook, "around", problem)


def check_forbidden(hooks: Sequence[ForbiddenHook], context: ForbiddenContext) -> None:
    """Every check in order. Raises the first `Forbidden`; anything else is logged."""
    for hook in hooks:
        try:
            hook.check(context)
        except Forbidden:
            raise
        except Exception as problem:  # isolation boundary: only Forbidden may stop a send
            _failed("forbidden_hook", hook, "check", problem)


def after_stored(rule: SendRule, record: PendingRecord, result: StoredAt) -> None:
    """Tell `rule` where `record` was stored."""
    try:
        rule.after(record, result)
    except Exception as problem:  # isolation boundary: the message is stored, whatever a rule makes of that
        _failed("send_rule", rule, "after", problem)


def isolated(hook: object, call: str, function: Callable[..., object]) -> Callable[..., None]:
    """`function`, the `call` of a broker service; its exceptions are logged and go no further."""

    def isolated_call(*arguments: object) -> None:
        try:
            function(*arguments)
        except Exception as problem:  # isolation boundary: other services are waiting to be called
            _failed("broker_service", hook, call, problem)

    return isolated_call


def before_rpc(hooks: Sequence[RpcHook], address: str, request: Frame, *, serving: bool) -> None:
    """Every `before` in order. Raises the first `Refusal` where `serving`; anything else is logged."""
    for hook in hooks:
        try:
            hook.before(address, request)
        except Refusal as refusal:
            if serving:
                raise
            _failed("rpc_hook", hook, "before", refusal)
        except Exception as problem:  # isolation boundary: only a server's hook may refuse
            _failed("rpc_hook", hook, "before", problem)


def after_rpc(hooks: Sequence[RpcHook], address: str, request: Frame, answer: Frame | None) -> None:
    """Every `after`, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.after(address, request, answer)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed("rpc_hook", hook, "after", problem)


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


def _failed(kind: str, hook: Any, call: str, problem: Exception) -> None:
    _log.error("hook failed", kind=kind, plugin=hook_name(hook), call=call, exc_info=problem)

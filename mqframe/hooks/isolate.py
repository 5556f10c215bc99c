"""Runs tuples of hooks so that a faulty hook cannot stop what it watches.

Before-hooks run in order, after-hooks in reverse. An exception of a hook is logged with its name and goes
no further, but for the one refusal error that its kind declares. Callers resolve the tuples once and test
them for truth first, so that nothing is spent where there is no hook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mqframe.core.errors import Refusal
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import (
    ClientHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    HookPort,
    PendingRecord,
    RpcHook,
    SendContext,
    SendRule,
    StoredAt,
)
from mqframe.log import get_logger

_log = get_logger("hooks")
C = TypeVar("C")


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


def _kind(context: object) -> str:
    return "send_hook" if isinstance(context, SendContext) else "consume_hook"


def _failed(kind: str, hook: Any, call: str, problem: Exception) -> None:
    _log.error("hook failed", kind=kind, plugin=hook_name(hook), call=call, exc_info=problem)

"""Runs tuples of hooks so that a faulty hook cannot stop what it watches.

Before-hooks run in order, after-hooks in reverse. An exception of a hook is logged with its name and goes
no further, but for the one refusal error that its kind declares. Callers resolve the tuples once and test
them for truth first, so that nothing is spent where there is no hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqframe.core.errors import Refusal
from mqframe.core.frame import Frame
from mqframe.hooks.interfaces import (
    ConsumeContext,
    ConsumeHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    HookPort,
    RpcHook,
    SendContext,
    SendHook,
)
from mqframe.log import get_logger

_log = get_logger("hooks")


def hook_name(hook: object) -> str:
    """The name of a hook for logs: its `name`, else its module and class."""
    own = getattr(hook, "name", "")
    return str(own) if own else f"{type(hook).__module__}.{type(hook).__qualname__}"


def attach_hook(hook: SendHook | ConsumeHook, port: HookPort) -> None:
    """Hand a hook its port."""
    try:
        hook.attach(port)
    except Exception as problem:  # isolation boundary: a hook only watches
        _failed("hook", hook, "attach", problem)


def detach_hook(hook: SendHook | ConsumeHook) -> None:
    """Tell a hook that its client stops."""
    try:
        hook.detach()
    except Exception as problem:  # isolation boundary: a hook only watches
        _failed("hook", hook, "detach", problem)


def before_send(hooks: Sequence[SendHook], context: SendContext) -> None:
    """Every `before` in order."""
    for hook in hooks:
        try:
            hook.before(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed("send_hook", hook, "before", problem)


def after_send(hooks: Sequence[SendHook], context: SendContext) -> None:
    """Every `after`, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.after(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed("send_hook", hook, "after", problem)


def before_consume(hooks: Sequence[ConsumeHook], context: ConsumeContext) -> None:
    """Every `before` in order."""
    for hook in hooks:
        try:
            hook.before(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed("consume_hook", hook, "before", problem)


def after_consume(hooks: Sequence[ConsumeHook], context: ConsumeContext) -> None:
    """Every `after`, last hook first."""
    for hook in reversed(hooks):
        try:
            hook.after(context)
        except Exception as problem:  # isolation boundary: a hook only watches
            _failed("consume_hook", hook, "after", problem)


def check_forbidden(hooks: Sequence[ForbiddenHook], context: ForbiddenContext) -> None:
    """Every check in order. Raises the first `Forbidden`; anything else is logged."""
    for hook in hooks:
        try:
            hook.check(context)
        except Forbidden:
            raise
        except Exception as problem:  # isolation boundary: only Forbidden may stop a send
            _failed("forbidden_hook", hook, "check", problem)


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


def _failed(kind: str, hook: Any, call: str, problem: Exception) -> None:
    _log.error("hook failed", kind=kind, plugin=hook_name(hook), call=call, exc_info=problem)

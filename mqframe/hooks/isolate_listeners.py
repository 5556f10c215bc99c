"""Runs what consume hooks put around listeners so that a faulty hook cannot stop them (`isolate`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook
from mqframe.hooks.isolate import hook_failed

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
            hook_failed("consume_hook", hook, "around", problem)
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
            hook_failed("consume_hook", hook, "around", problem)

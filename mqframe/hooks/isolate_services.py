"""Calls services and send rules of brokers so that a faulty one cannot stop others (`isolate`)."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.hooks.interfaces import PendingRecord, SendRule, StoredAt
from mqframe.hooks.isolate import hook_failed


def after_stored(rule: SendRule, record: PendingRecord, result: StoredAt) -> None:
    """Tell `rule` where `record` was stored."""
    try:
        rule.after(record, result)
    except Exception as problem:  # isolation boundary: the message is stored, whatever a rule makes of that
        hook_failed("send_rule", rule, "after", problem)


def isolated(hook: object, call: str, function: Callable[..., object]) -> Callable[..., None]:
    """`function`, the `call` of a broker service; its exceptions are logged and go no further."""

    def isolated_call(*arguments: object) -> None:
        try:
            function(*arguments)
        except Exception as problem:  # isolation boundary: other services are waiting to be called
            hook_failed("broker_service", hook, call, problem)

    return isolated_call

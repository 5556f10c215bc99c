"""Which messages are shown, decided here: by an expression over properties, and by keys.

Not by brokers: those of Apache RocketMQ evaluate SQL92 only where `enablePropertyFilter` is on, and none
looks for keys while it reads. So a choice works everywhere, beside tags, too; what is not chosen comes over
the network all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from mqframe.core.errors import FixError, SettingError
from mqframe.core.filtering.filter_expression import SQL92
from mqframe_cli.settings.run_plugins import plugin_manager

if TYPE_CHECKING:
    from mqframe.core.messages.message import ReceivedMessage
    from mqframe.hooks.interfaces import MessageFilter

Chooses = Callable[["ReceivedMessage"], bool]


def everything(message: ReceivedMessage) -> bool:
    """Chooses all."""
    return True


def choice_of(where: str, keys: Collection[str]) -> Chooses:
    """Whether a message has properties that fulfil `where`, and one of `keys`; what is empty chooses all.

    Raises `SettingError` for an expression that is none, `PluginError` where nothing here reads any.
    """
    wanted = frozenset(keys)
    if not where:
        return (lambda message: not wanted.isdisjoint(message.keys)) if wanted else everything
    understands: MessageFilter = plugin_manager().create("message_filter", SQL92)
    try:
        matches = understands.compile(where)
    except FixError as problem:
        raise SettingError(f"--where: {problem}") from None
    if not wanted:
        return lambda message: matches(message.properties)
    return lambda message: not wanted.isdisjoint(message.keys) and matches(message.properties)

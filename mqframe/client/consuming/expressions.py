"""Finds fault with expressions of subscriptions before a broker acts on them.

Brokers of Apache RocketMQ pass over what follows a complete expression, and so choose more than was written.
"""

from __future__ import annotations

from functools import lru_cache

from mqframe.core.errors import PluginError
from mqframe.core.filtering.filter_expression import SQL92, MessageChoice
from mqframe.hooks.interfaces import MessageFilter
from mqframe.hooks.manager import PluginManager


def check_expression(choice: MessageChoice) -> None:
    """Raise `FixError`, with the place, for an SQL92 expression that is none.

    Nothing is known of it where the plugin that reads such expressions is not installed.
    """
    if choice.expression_type == SQL92:
        _compile(choice.expression)


@lru_cache(maxsize=256)
def _compile(expression: str) -> None:
    try:
        understands: MessageFilter = PluginManager().create("message_filter", SQL92)
    except PluginError:
        return  # it is not installed here; the broker knows
    understands.compile(expression)

"""The message filter `SQL92`: expressions over the properties of messages, as Apache RocketMQ has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqframe import MessageFilter, hookimpl
from mqframe.hooks.interfaces.message_filter import Matches
from mqframe.hooks.specs import Factories
from mqframe_sql92.parser import parse
from mqframe_sql92.values import EvaluationError

__all__ = ["EvaluationError", "Expression", "SqlFilter", "register_message_filters"]


class Expression:
    """An expression that was compiled. Raises `FixError` with the place where it is wrong."""

    __slots__ = ("evaluate", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.evaluate: Callable[[Mapping[str, str]], bool | None] = parse(text).evaluate
        """True, false, or `None` for unknown. Raises `EvaluationError` where it has no value at all."""

    def matches(self, properties: Mapping[str, str]) -> bool:
        """Whether it is true; what has no value is not."""
        try:
            return self.evaluate(properties) is True
        except EvaluationError:
            return False


class SqlFilter(MessageFilter):
    """Compiles expressions of type SQL92."""

    name = "SQL92"

    def compile(self, expression: str) -> Matches:
        """Make ready to evaluate `expression`. Raises `FixError` with the place where it is wrong."""
        first, *others = parse(expression).needed

        def matches(properties: Mapping[str, str]) -> bool:
            # Only what is true counts, so what is unknown may end it as well as what is false.
            try:
                if first(properties) is not True:
                    return False
                for other in others:
                    if other(properties) is not True:
                        return False
            except EvaluationError:
                return False
            return True

        return matches

    def reads(self, expression: str) -> frozenset[str]:
        """The properties in `expression`. Raises `FixError` as `compile` does."""
        return parse(expression).names


@hookimpl
def register_message_filters() -> Factories:
    """The one."""
    return {"SQL92": SqlFilter}

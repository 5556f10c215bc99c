"""Message filters: expression languages of subscriptions, beyond tags."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

Matches = Callable[[Mapping[str, str]], bool]
"""Whether a message with these properties is wanted. What cannot be evaluated is not wanted.

The mapping is good during the call only. Asked of every message, so `get` is the way to look at it."""


class MessageFilter:
    """One kind of expression, named after its type on the wire, for example "SQL92".

    The broker compiles a subscription's expression once, and asks for every message that a pull looks at.
    Synchronous; may not block.
    """

    name: str = ""

    def compile(self, expression: str) -> Matches:
        """Make ready to evaluate `expression`.

        Raises `FixError` that says at which character (from 1) the expression is wrong, and what was
        expected.
        """
        raise NotImplementedError

    def reads(self, expression: str) -> Collection[str] | None:
        """The names of the properties that all depends on, of an `expression` that can be compiled.

        With these a broker may remember what became of their values; `None`: it asks for every message.
        """
        return None

    def codes(self, expression: str | None) -> frozenset[int] | None:
        """The hash codes of the tags that `expression` can match, `None` for all: known before compiling.

        A broker compares them with the queues' entries. Only the filter by tags ("TAG") is asked for them.
        """
        return None

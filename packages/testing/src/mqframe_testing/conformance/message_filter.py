"""Conformance suite of message filters."""

from __future__ import annotations

import re

import pytest

from mqframe.core.errors import FixError
from mqframe.hooks.interfaces import MessageFilter


class MessageFilterConformance:
    """Expressions are compiled once and asked for any message; what is wrong with one is said at once.

    Give `examples`, `unknown` and `broken` in the language of the filter.
    """

    def make(self) -> MessageFilter:
        """A fresh filter."""
        raise NotImplementedError

    def examples(self) -> list[tuple[str, dict[str, str], bool]]:
        """Expressions, the properties of a message, and whether it is wanted."""
        raise NotImplementedError

    def unknown(self) -> list[str]:
        """Expressions that want no message without properties."""
        raise NotImplementedError

    def broken(self) -> list[str]:
        """Texts that are no expressions."""
        raise NotImplementedError

    def test_it_is_named_after_its_type(self) -> None:
        """Subscriptions carry the name."""
        assert self.make().name

    def test_messages_are_chosen(self) -> None:
        """As the examples say, however often, and in whatever order."""
        made = self.make()
        compiled = [(made.compile(text), properties, wanted) for text, properties, wanted in self.examples()]
        for matches, properties, wanted in [*compiled, *reversed(compiled)]:
            before = dict(properties)
            assert matches(properties) is wanted
            assert properties == before

    def test_it_reads_what_it_says(self) -> None:
        """Where a filter names the properties that an expression reads, the others change nothing."""
        made = self.make()
        for text, properties, _ in self.examples():
            names = made.reads(text)
            read = {name: value for name, value in properties.items() if names is None or name in names}
            assert made.compile(text)(read) is made.compile(text)(properties)

    def test_what_is_not_known_is_not_wanted(self) -> None:
        """A message that lacks a property neither matches nor stops the broker."""
        for text in self.unknown():
            assert self.make().compile(text)({}) is False

    def test_values_that_do_not_fit(self) -> None:
        """Whatever text a property holds, the answer is yes or no."""
        for text, properties, _ in self.examples():
            matches = self.make().compile(text)
            for odd in ("", "x", "-1", "9" * 400, "1e999", "\U0001f600", "'", "NULL"):
                assert matches(dict.fromkeys(properties, odd)) in (True, False)

    def test_what_is_wrong_is_said_with_its_place(self) -> None:
        """A `FixError` names the character, from 1."""
        for text in self.broken():
            with pytest.raises(FixError) as caught:
                self.make().compile(text)
            place = re.search(r"character (\d+)", str(caught.value))
            assert place is not None
            assert 1 <= int(place[1]) <= len(text) + 1

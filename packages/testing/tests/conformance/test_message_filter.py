"""The suite of message filters: a good one passes, each faulty one is caught by the check of its rule."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from faults import caught_by
from mqframe_testing.conformance import MessageFilterConformance

from mqframe.core.errors import FixError
from mqframe.hooks.interfaces import MessageFilter


class Equals(MessageFilter):
    """Expressions are `name=value`."""

    name = "EQUALS"

    def compile(self, expression):
        name, sign, value = expression.partition("=")
        if not sign:
            raise FixError(f"character {len(expression) + 1}: expected =")
        return lambda properties: properties.get(name) == value


class Suite(MessageFilterConformance):
    made: type[MessageFilter] = Equals

    def make(self) -> MessageFilter:
        return self.made()

    def examples(self) -> list[tuple[str, dict[str, str], bool]]:
        return [("colour=green", {"colour": "green"}, True), ("colour=green", {"colour": "red"}, False)]

    def unknown(self) -> list[str]:
        return ["colour=green"]

    def broken(self) -> list[str]:
        return ["colour", ""]


class TestMessageFilter(Suite):
    pass


class Telling(Equals):
    def reads(self, expression):
        return [expression.partition("=")[0]]


class TestTelling(Suite):
    made = Telling


class Nameless(Equals):
    name = ""


class Inverted(Equals):
    """Wants what it should not, but nothing of what it does not know."""

    def compile(self, expression):
        matches = super().compile(expression)
        return lambda properties: bool(properties) and not matches(properties)


class Tired(Equals):
    """Answers once."""

    def compile(self, expression):
        matches, asked = super().compile(expression), []

        def once(properties: Mapping[str, str]) -> bool:
            asked.append(1)
            return len(asked) == 1 and matches(properties)

        return once


class Marking(Equals):
    """Writes into the properties."""

    def compile(self, expression):
        matches = super().compile(expression)

        def mark(properties: dict[str, str]) -> bool:
            wanted = matches(properties)
            if properties:
                properties["seen"] = "yes"
            return wanted

        return mark


class Trusting(Equals):
    """Takes a property for granted."""

    def compile(self, expression):
        super().compile(expression)
        name, _, value = expression.partition("=")
        return lambda properties: properties[name] == value


class Counting(Equals):
    """Takes each text for a number, but colours."""

    def compile(self, expression):
        matches = super().compile(expression)

        def count(properties: Mapping[str, str]) -> bool:
            for text in properties.values():
                if text not in ("green", "red"):
                    float(text)
            return matches(properties)

        return count


class Forgetful(Equals):
    """Does not name what it reads."""

    def reads(self, expression):
        return ["size"]


class Lenient(Equals):
    """Takes every text for an expression."""

    def compile(self, expression):
        return super().compile(expression if "=" in expression else f"{expression}=")


class Vague(Equals):
    """Does not say where an expression is wrong."""

    def compile(self, expression):
        try:
            return super().compile(expression)
        except FixError:
            raise FixError("expected =") from None


class Lost(Equals):
    """Points far behind the expression."""

    def compile(self, expression):
        try:
            return super().compile(expression)
        except FixError:
            raise FixError("character 99: expected =") from None


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Nameless, "test_it_is_named_after_its_type"),
        (Inverted, "test_messages_are_chosen"),
        (Tired, "test_messages_are_chosen"),
        (Marking, "test_messages_are_chosen"),
        (Forgetful, "test_it_reads_what_it_says"),
        (Trusting, "test_what_is_not_known_is_not_wanted"),
        (Counting, "test_values_that_do_not_fit"),
        (Lenient, "test_what_is_wrong_is_said_with_its_place"),
        (Vague, "test_what_is_wrong_is_said_with_its_place"),
        (Lost, "test_what_is_wrong_is_said_with_its_place"),
    ],
)
def test_a_faulty_filter_is_caught_by_one_check(faulty: type[MessageFilter], check: str) -> None:
    assert caught_by(type("Faulty", (Suite,), {"made": faulty})) == [check]

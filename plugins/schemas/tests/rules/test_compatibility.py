"""Which reader has to be able to read what whom wrote, rule by rule."""

from __future__ import annotations

import pytest
from mqframe_schemas.formats.bodies import ParsedSchema
from mqframe_schemas.rules.compatibility import Described, Difference, Rule, breaks
from mqframe_schemas.rules.history import SchemaVersion

OLDER = (SchemaVersion(1, "json", "1"), SchemaVersion(2, "json", "22"))
NEW = ParsedSchema("333")


def reads(writer: Described, reader: Described) -> list[Difference]:
    """Longer ones are not read by shorter ones."""
    return [Difference("$.a", "too long")] if len(writer.text) > len(reader.text) else []


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (Rule.BACKWARD, []),
        (Rule.NONE, []),
        (
            Rule.FORWARD,
            [
                "readers with version 2 could not read what is written from now on: $.a: too long",
                "readers with version 1 could not read what is written from now on: $.a: too long",
            ],
        ),
    ],
)
def test_who_reads_what_is_asked_as_the_rule_says(rule: Rule, broken: list[str]) -> None:
    assert breaks(rule, OLDER, NEW, reads) == broken


def test_full_asks_both() -> None:
    assert breaks(Rule.FULL, OLDER, NEW, reads) == breaks(Rule.FORWARD, OLDER, NEW, reads)
    shorter = ParsedSchema("")
    assert breaks(Rule.FULL, OLDER[:1], shorter, reads) == [
        "what was written by version 1 could not be read any more: $.a: too long"
    ]


def test_a_difference_of_the_whole_has_no_path() -> None:
    assert str(Difference("", "too long")) == "too long"
    assert str(Difference("$.a", "too long")) == "$.a: too long"

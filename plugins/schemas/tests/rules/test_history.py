"""What name servers keep of schemas, and how what several of them say becomes one."""

from __future__ import annotations

import pytest
from mqframe_schemas.rules.compatibility import Rule
from mqframe_schemas.rules.history import (
    SchemaHead,
    SchemaHistory,
    SchemaVersion,
    merged_heads,
    merged_versions,
    next_history,
    text_of,
    value_bytes,
    versions_of,
)

from mqframe.core.errors import FixError

ONE, TWO = SchemaVersion(1, "json", "{}"), SchemaVersion(2, "json", "true", "Order")


def test_what_is_kept_is_read_again() -> None:
    head = SchemaHead(2, Rule.FULL, 1, 4)
    assert merged_heads([{"orders": text_of(head)}]) == {"orders": head}
    assert merged_versions("orders", [{"2": text_of(TWO), "1": text_of(ONE)}]) == (ONE, TWO)
    assert versions_of("orders") == "MQFRAME_SCHEMAS/orders"


def test_of_several_name_servers_the_latest_change_counts_and_all_versions() -> None:
    older, newer = SchemaHead(1, change=1), SchemaHead(0, change=3)
    assert merged_heads([{"a": text_of(newer)}, {}, {"a": text_of(older), "b": text_of(older)}]) == {
        "a": newer,
        "b": older,
    }
    assert merged_versions("a", [{"2": text_of(TWO)}, {}, {"1": text_of(ONE)}]) == (ONE, TWO)


@pytest.mark.parametrize("text", ["", "{", '{"latest":"one"}', '{"latest":1,"rule":"sideways"}'])
def test_what_is_no_schema_is_told(text: str) -> None:
    with pytest.raises(FixError, match="what a name server keeps as a schema of topic orders is none"):
        merged_heads([{"orders": text}])


def test_a_history_goes_on() -> None:
    empty = SchemaHistory("orders")
    assert (empty.latest, empty.compared) == (None, ())
    first = next_history(empty, ONE, Rule.BACKWARD, 1)
    assert (first.head, first.latest, first.versions) == (SchemaHead(1, Rule.BACKWARD, 1, 1), ONE, (ONE,))
    second = next_history(first, TWO, Rule.NONE, 2)
    assert (second.head, second.versions) == (SchemaHead(2, Rule.NONE, 2, 2), (ONE, TWO))
    assert second.compared == (TWO,)
    back = next_history(second, ONE, Rule.FULL, 1)
    assert (back.latest, back.versions, back.compared) == (ONE, (ONE, TWO), (ONE, TWO))
    over = next_history(back, None, Rule.FULL, 1)
    assert (over.head, over.latest, over.versions) == (SchemaHead(0, Rule.FULL, 1, 4), None, (ONE, TWO))


@pytest.mark.parametrize(
    ("text", "found"), [("1", ONE), ("2", None), ("01", None), ("one", None), ("", None)]
)
def test_the_version_that_a_property_names(text: str, found: SchemaVersion | None) -> None:
    assert SchemaHistory("orders", None, (ONE,)).version_said(text) == found


def test_what_takes_how_much_of_a_header() -> None:
    assert (
        value_bytes(SchemaVersion(1, "json", 'a"')) == len(text_of(SchemaVersion(1, "json", 'a"'))) + 2 + 16
    )


def test_what_is_not_there_says_what_to_do() -> None:
    with pytest.raises(
        FixError, match="topic orders has no schema; set one with: mqframe schema set orders FILE"
    ):
        SchemaHistory("orders").needed()
    with pytest.raises(FixError, match="lost version 2 of its schema; set it again"):
        SchemaHistory("orders", SchemaHead(2), (ONE,)).needed()
    assert SchemaHistory("orders", SchemaHead(1), (ONE,)).needed() == ONE

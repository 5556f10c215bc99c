"""Properties of many rows at once, against what each row says by itself."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.sink.row_texts import join, joined_keys, joined_where_all, map_pairs, pair

WORDS = st.text(st.characters(blacklist_characters="\x01\x02 ", blacklist_categories=["Cs"]), min_size=1)
MAP = pa.map_(pa.string(), pa.string())


class Complaint(Exception):
    """A row, and what is wrong with it."""


def texts(column: pa.Array) -> list[str | None]:
    return [None if each is None else each.decode() for each in column.to_pylist()]


def pairs_of(rows: list[dict[str, str] | None], **options: object) -> list[str | None]:
    column = pa.array([None if row is None else list(row.items()) for row in rows], MAP)
    chosen = {"left_out": "", "drop_reserved": False, "complain": Complaint, **options}
    return texts(map_pairs(column, **chosen))


def test_null_adds_nothing_to_a_text_unless_all_parts_are_needed() -> None:
    parts = (pa.array([b"a", None]), pa.scalar(b"-"), pa.array([b"1", b"2"]))
    assert join(*parts).to_pylist() == [b"a-1", b"-2"]
    assert joined_where_all(*parts).to_pylist() == [b"a-1", None]


@given(st.lists(st.none() | st.just("") | WORDS, max_size=8))
def test_a_value_gives_a_pair_and_null_and_an_empty_text_give_none(values: list[str | None]) -> None:
    got = texts(pair("TAGS", pa.array(values, pa.string()), Complaint, what="tags"))
    assert got == [f"TAGS\x01{value}\x02" if value else None for value in values]


@given(st.lists(st.none() | st.lists(WORDS, max_size=3), max_size=6))
def test_keys_are_joined_by_spaces(rows: list[list[str] | None]) -> None:
    column = pa.array(rows, pa.list_(pa.string()))
    assert [each or "" for each in texts(joined_keys(column, Complaint))] == [
        " ".join(row or ()) for row in rows
    ]


@given(st.lists(st.none() | st.dictionaries(WORDS.map(lambda word: f"my.{word}"), WORDS, max_size=3)))
def test_maps_give_their_pairs_in_their_order(rows: list[dict[str, str] | None]) -> None:
    assert pairs_of(rows) == [
        "".join(f"{name}\x01{value}\x02" for name, value in (row or {}).items()) for row in rows
    ]


def test_a_slice_of_a_column_counts_its_own_rows() -> None:
    column = pa.array([[("a", "1")], [("b", "2"), ("c", "3")], None, [("d", "4")]], MAP).slice(1)
    got = map_pairs(column, "c", drop_reserved=False, complain=Complaint)
    assert texts(got) == ["b\x012\x02", "", "d\x014\x02"]


def test_names_of_the_system_are_dropped_where_that_is_wanted() -> None:
    rows = [{"a": "1", "TAGS": "x"}, {"KEYS": "y"}, {"b": "2"}]
    assert pairs_of(rows, drop_reserved=True) == ["a\x011\x02", "", "b\x012\x02"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"TAGS": "x"}, "belongs to the system"),
        ({"a": ""}, "value of b'a' is null or empty"),
        ({"": "x"}, "name of b'' is null or empty"),
        ({"a": "x\x01y"}, "value of b'a' holds a character 1 or 2"),
        ({"a\x02": "x"}, "holds a character 1 or 2"),
    ],
)
def test_what_no_map_may_hold_is_said_with_its_row(row: dict[str, str], said: str) -> None:
    with pytest.raises(Complaint) as caught:
        pairs_of([{"a": "1", "b": "2"}, None, row])
    assert caught.value.args[0] == 2
    assert said in caught.value.args[1]


@pytest.mark.parametrize("key", [None, "", "two words"])
def test_what_no_key_may_be_is_said_with_its_row(key: str | None) -> None:
    with pytest.raises(Complaint) as caught:
        joined_keys(pa.array([["a", "b"], [], ["c", key]], pa.list_(pa.string())), Complaint)
    assert caught.value.args[0] == 2


def test_a_value_with_a_separator_is_said_with_its_row() -> None:
    with pytest.raises(Complaint) as caught:
        pair("TAGS", pa.array(["a", None, "x\x02"]), Complaint, what="tags")
    assert caught.value.args == (2, "column tags holds a character 1 or 2, which separate properties")

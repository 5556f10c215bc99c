"""Values of query strings, within bounds."""

from __future__ import annotations

import pytest
from mqframe_dashboard.query import MS_MAX, TEXT_MAX, BadQuery, Query


def test_texts_lose_white_space_around_them():
    query = Query({"a": "  x y ", "b": " "})
    assert (query.text("a"), query.text("b"), query.text("c"), query.needed("a")) == ("x y", "", "", "x y")
    assert Query({"a": "x" * TEXT_MAX}).text("a") == "x" * TEXT_MAX


def test_texts_that_are_too_long_or_missing_are_named():
    with pytest.raises(BadQuery, match=r"a: 1025 characters are too many; at most 1024"):
        Query({"a": "x" * (TEXT_MAX + 1)}).text("a")
    with pytest.raises(BadQuery, match="b: is missing"):
        Query({"b": " "}).needed("b")


def test_counts_have_a_default_and_a_limit():
    assert [Query({"n": each}).count("n", 7, 200) for each in ("", "1", "200")] == [7, 1, 200]


@pytest.mark.parametrize("text", ["0", "201", "-1", "1e2", "٣", "9" * 30, "x"])
def test_counts_out_of_bounds_are_refused(text):
    with pytest.raises(BadQuery, match=r"n: .* must be a number from 1 to 200"):
        Query({"n": text}).count("n", 7, 200)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("", 5),
        ("0", 0),
        ("1700000000000", 1_700_000_000_000),
        (str(MS_MAX), MS_MAX),
        ("2023-11-14T22:13:20", 1_700_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("1900-01-01", 0),
    ],
)
def test_moments_are_utc_unless_they_say_else(text, ms):
    assert Query({"t": text}).moment("t", 5) == ms


@pytest.mark.parametrize("text", ["yesterday", "9" * 15, "0001-01-01T00:00+23:00x", "2023-13-01"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(BadQuery, match=r"t: .* is no time; write 2026"):
        Query({"t": text}).moment("t", 0)

"""Values of query strings, within bounds."""

from __future__ import annotations

from datetime import datetime

import pytest
from mqframe_dashboard.query import MS_MAX, TEXT_MAX, BadQuery, Query

LOCAL = datetime(2023, 11, 14, 22, 13, 20)


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
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("2023-11-14T22:13:20", int(LOCAL.timestamp() * 1000)),
        ("1900-01-01", 0),
    ],
)
def test_moments_are_of_this_machine_s_zone_unless_they_say_else(text, ms):
    assert Query({"t": text}).moment("t", 5) == ms


def test_a_moment_is_shown_back_with_its_zone():
    query = Query({"a": "2023-11-14T22:13:20", "b": "2023-11-14T22:13Z", "c": "1700000000000", "d": "noon"})
    assert query.moment_text("a") == LOCAL.astimezone().isoformat()
    assert [query.moment_text(each) for each in "bcde"] == ["2023-11-14T22:13Z", "1700000000000", "noon", ""]


@pytest.mark.parametrize(
    ("text", "unit"),
    [("1700000000", "seconds"), ("1700000000000000", "microseconds"), ("9" * 15, "microseconds")],
)
def test_a_number_of_seconds_is_told_from_one_of_milliseconds(text, unit):
    with pytest.raises(BadQuery, match=f"t: {text} counts {unit}; write milliseconds since 1970"):
        Query({"t": text}).moment("t", 0)


@pytest.mark.parametrize("text", ["yesterday", "9" * 17, "0001-01-01T00:00+23:00x", "2023-13-01"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(BadQuery, match=r"t: .* is no time; write 2026"):
        Query({"t": text}).moment("t", 0)

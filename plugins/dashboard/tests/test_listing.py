"""Long lists, a page at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_dashboard.listing import ROWS, ROWS_MAX, Listing
from mqframe_dashboard.query import BadQuery, Query
from mqframe_dashboard.view import Field, Form, Links, Note

COLUMNS = ("topic", "rate")
ROW = st.tuples(st.text("abcAB%-", min_size=1, max_size=6), st.one_of(st.none(), st.integers(0, 5)))


def listing(**query: str) -> Listing:
    return Listing("topics", Query(query), COLUMNS, more=("all",))


def pages(every, /, **query):
    """The rows of all pages together."""
    found, number = [], 1
    while True:
        wanted = listing(page=str(number), **query)
        key = None if wanted.column == "topic" else lambda row: row[1]
        listed = wanted.listed(every, lambda row: row[0], key)
        assert listed.number == number
        assert 1 <= len(listed.rows) <= int(query.get("rows", ROWS)) or listed.total == 0
        found += listed.rows
        number += 1
        if number > listed.pages:
            assert listed.total == len(found)
            return found


@given(
    st.lists(ROW, max_size=60, unique_by=lambda row: row[0]),
    st.sampled_from(["topic", "-topic", "rate", "-rate"]),
    st.sampled_from(["", "a", "B", "%"]),
    st.integers(1, 25),
)
def test_pages_hold_every_row_that_is_wanted_once_and_in_order(rows, sort, find, size):
    found = pages(rows, sort=sort, find=find, rows=str(size))
    wanted = [row for row in rows if find.lower() in row[0].lower()]
    assert sorted(found, key=lambda row: row[0]) == sorted(wanted, key=lambda row: row[0])
    names = [name for name, _ in found]
    if sort.endswith("topic"):
        assert names == sorted(names, reverse=sort.startswith("-"))
        return
    rates = [rate for _, rate in found]
    known = [rate for rate in rates if rate is not None]
    assert rates == [*sorted(known, reverse=sort.startswith("-")), *[None] * (len(rates) - len(known))]
    for value in set(rates):
        alike = [name for name, rate in found if rate == value]
        assert alike == sorted(alike)


def test_a_page_behind_the_last_is_the_last():
    rows = [f"t{number:03}" for number in range(120)]
    listed = listing(page="99").listed(rows, str)
    assert (listed.number, listed.pages, listed.total) == (3, 3, 120)
    assert listed.rows == rows[100:]


def test_links_lead_to_other_pages_and_keep_what_was_asked_for():
    wanted = listing(page="2", find="t", sort="-topic", all="1", odd="x")
    listed = wanted.listed([f"t{number:03}" for number in range(120)], str)
    note, links = wanted.around(listed, "topics")
    assert note == Note("51 to 100 of 120 topics, page 2 of 3.")
    assert isinstance(links, Links)
    assert {each.text: each.href for each in links.links} == {
        "First": "topics?find=t&sort=-topic&all=1&page=1",
        "Previous": "topics?find=t&sort=-topic&all=1&page=1",
        "Next": "topics?find=t&sort=-topic&all=1&page=3",
        "Last": "topics?find=t&sort=-topic&all=1&page=3",
    }


def test_one_page_needs_no_links():
    assert listing().around(listing().listed(["a"], str), "topics") == [Note("1 topic.")]
    assert listing().around(listing().listed(["a", "b"], str), "topics") == [Note("2 topics.")]
    assert listing().around(listing().listed([], str), "topics") == []


def test_heads_of_columns_sort_and_turn_the_order_round():
    sorts = listing(sort="rate", find="t").sorts()
    assert sorts["rate"].state == "ascending"
    assert sorts["rate"].href == "topics?find=t&sort=-rate"
    assert (sorts["topic"].state, sorts["topic"].href) == ("", "topics?find=t&sort=topic")
    turned = listing(sort="-rate").sorts()["rate"]
    assert (turned.state, turned.href) == ("descending", "topics?sort=rate")
    assert Listing("g", Query({}), COLUMNS, default="-rate").sorts()["rate"].state == "descending"


def test_the_filter_keeps_the_order():
    form = listing(sort="-rate", find="t", page="3", rows="10").form(Field("all", "All", kind="checkbox"))
    assert isinstance(form, Form)
    assert [(each.name, each.value, each.kind) for each in form.fields] == [
        ("find", "t", "text"),
        ("all", "", "checkbox"),
        ("sort", "-rate", "hidden"),
        ("rows", "10", "hidden"),
    ]


@pytest.mark.parametrize(
    "query", [{"sort": "odd"}, {"sort": "--rate"}, {"page": "0"}, {"page": "x"}, {"rows": str(ROWS_MAX + 1)}]
)
def test_what_makes_no_sense_is_refused(query):
    with pytest.raises(BadQuery, match=next(iter(query))):
        listing(**query)

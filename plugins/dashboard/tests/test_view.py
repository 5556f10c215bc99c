"""Values that pages are made of."""

from __future__ import annotations

from mqframe_dashboard.view import Field, Form, Note, Page, TableView, link, time_text


def test_links_are_encoded():
    assert link("topic", "x", name="%RETRY%a&b=<c>").href == "topic?name=%25RETRY%25a%26b%3D%3Cc%3E"
    assert link("topics", "x").href == "topics"


def test_times_are_utc_and_broken_ones_are_numbers():
    assert time_text(1_700_000_000_000) == "2023-11-14 22:13:20Z"
    assert time_text(0) == time_text(-1) == ""
    assert time_text(10**18) == str(10**18)


def test_pages_with_forms_are_filled_in():
    assert not Page("P", [Note("x"), TableView("T", [])]).is_filled_in
    assert Page("P", [Note("x"), Form("p", [Field("find", "Find")])]).is_filled_in

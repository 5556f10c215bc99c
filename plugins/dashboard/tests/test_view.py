"""Values that pages are made of."""

from __future__ import annotations

from mqframe_dashboard.view import Curve, link, system_link, time_text


def test_links_are_encoded():
    assert link("topic", "x", name="%RETRY%a&b=<c>").href == "topic?name=%25RETRY%25a%26b%3D%3Cc%3E"
    assert link("topics", "x").href == "topics"


def test_what_is_of_the_system_can_be_shown_and_hidden():
    assert system_link("topics", False).href == "topics?all=1"
    assert system_link("topics", True).href == "topics"


def test_the_highest_rate_of_a_curve_touches_the_top():
    assert Curve([0.0, 5.0, 10.0]).points == "0.0,23.0 60.0,12.0 120.0,1.0"
    assert Curve([]).points == ""
    assert Curve([0.0]).points == "0.0,23.0"


def test_times_are_utc_and_broken_ones_are_numbers():
    assert time_text(1_700_000_000_000) == "2023-11-14 22:13:20Z"
    assert time_text(0) == time_text(-1) == ""
    assert time_text(10**18) == str(10**18)

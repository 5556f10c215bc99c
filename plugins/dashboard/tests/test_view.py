"""Values that pages are made of."""

from __future__ import annotations

import pytest
from mqframe_dashboard.view import Chart, Curve, link, span_text, system_link, time_text


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


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(-5, "0 s"), (1999, "1 s"), (119_000, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (10**9, "11 d")],
)
def test_spans_are_in_the_largest_unit_that_they_have_two_of(milliseconds, text):
    assert span_text(milliseconds) == text


def test_a_chart_says_in_words_what_its_line_does():
    chart = Chart("Rate", [0.0, 4.0, 2.0], 600)
    assert chart.points == "0.0,119.0 300.0,1.0 600.0,60.0"
    assert chart.caption == "Messages a second over the last 10 min: 2.0 now, 4.0 at most."
    assert "no rate yet" in Chart("Rate", [], 0).caption

"""Lines of rates."""

from __future__ import annotations

import pytest
from mqframe_dashboard.curves import Chart, Curve, CurveSpan, lines, span_text
from mqframe_dashboard.series import Rate

RATES = [Rate(0, 300, 0.0), Rate(300, 600, 4.0), Rate(900, 1200, 2.0)]


def test_a_line_is_level_for_as_long_as_a_rate_is_and_stops_at_a_gap():
    assert lines(RATES, CurveSpan(0, 1200), 120, 24) == [
        "0.0,23.0 30.0,23.0 30.0,1.0 60.0,1.0",
        "90.0,12.0 120.0,12.0",
    ]
    assert lines([], CurveSpan(0, 1200), 120, 24) == []
    assert lines(RATES[:1], CurveSpan(0, 0), 120, 24) == ["0.0,23.0 0.0,23.0"]


def test_what_began_before_the_span_begins_at_its_edge():
    assert lines([Rate(-100, 600, 1.0)], CurveSpan(0, 600), 600, 120) == ["0.0,1.0 600.0,1.0"]


def test_a_curve_says_its_highest_rate():
    assert Curve(RATES, CurveSpan(0, 1200)).label == "at most 4.0 a second"
    assert len(Curve(RATES, CurveSpan(0, 1200)).lines) == 2


def test_a_chart_says_in_words_what_its_line_does():
    whole = Chart("Rate", RATES[:2], CurveSpan(0, 600))
    assert whole.lines == ["0.0,119.0 300.0,119.0 300.0,1.0 600.0,1.0"]
    assert whole.caption == "Messages a second over the last 10 min: 4.0 now, 4.0 at most."


def test_a_chart_tells_of_gaps_of_a_late_begin_and_that_it_knows_nothing_of_now():
    gap = "Where there is no line, nobody looked, or was answered."
    broken = Chart("Rate", RATES, CurveSpan(0, 1200), "Bytes")
    assert broken.caption == f"Bytes a second over the last 20 min: 2.0 now, 4.0 at most. {gap}"
    assert gap in Chart("Rate", RATES[1:2], CurveSpan(0, 600)).caption
    late = Chart("Rate", RATES[:2], CurveSpan(0, 900)).caption
    assert late.startswith("Messages a second over the last 15 min: not known now, 4.0 at most.")


def test_a_chart_without_rates_says_so():
    assert (
        Chart("Rate", [], CurveSpan(0, 0)).caption == "There is no data yet: a rate follows from two looks."
    )


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(-5, "0 s"), (1999, "1 s"), (119_000, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (10**9, "11 d")],
)
def test_spans_are_in_the_largest_unit_that_they_have_two_of(milliseconds, text):
    assert span_text(milliseconds) == text

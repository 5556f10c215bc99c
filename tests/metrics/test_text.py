"""The text is what prometheus-client reads."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from scrapes import parsed

from mqframe.core.measuring import histogram
from mqframe.core.measuring.family import Family, Kind, one
from mqframe.metrics.text import escaped, head, lines, number

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def text_of(family, common=None, most=1000):
    return head(family) + "".join(lines(family, common or {}, most))


@given(TEXT, TEXT, st.floats())
def test_any_label_and_number_is_read_back(first, second, value):
    family = Family("name", Kind.GAUGE, first, ("a",))
    family.add(value, second)
    (read,) = parsed(text_of(family, {"common": first}))
    (sample,) = read.samples
    assert sample.labels == {"common": first, "a": second}
    assert sample.value == value or (math.isnan(value) and math.isnan(sample.value))


def test_it_is_what_prometheus_client_writes_itself():
    registry = CollectorRegistry()
    counter = Counter("in", "what came", ["topic"], registry=registry)
    gauge = Gauge("lag", "what waits", registry=registry)
    theirs = Histogram("size", "how long", ["topic"], buckets=(1, 10.5), registry=registry)
    counter.labels('a"b').inc(3)
    gauge.set(2.5)
    ours = histogram.Histogram((1, 10.5))
    for value in (0.5, 1, 20):
        theirs.labels("t").observe(value)
        ours.add(value)
    came = Family("in_total", Kind.COUNTER, "what came", ("topic",))
    came.add(3.0, 'a"b')
    sizes = Family("size", Kind.HISTOGRAM, "how long", ("topic",))
    sizes.add(ours, "t")
    text = "".join(map(text_of, (came, one("lag", Kind.GAUGE, "what waits", 2.5), sizes)))

    def samples(given):
        return [
            (s.name, s.labels, s.value)
            for family in parsed(given)
            for s in family.samples
            if not s.name.endswith("_created")
        ]

    assert sorted(samples(text), key=str) == sorted(samples(generate_latest(registry).decode()), key=str)


def test_what_is_beyond_the_limit_has_the_common_labels_and_its_own():
    family = Family("n", Kind.COUNTER, "", ("topic",))
    for value in (1, 2, 3):
        family.add(value, f"t{value}")
    assert list(lines(family, {"node_id": "a"}, 1)) == [
        'n{node_id="a",topic="t1"} 1\n',
        'n{node_id="a",otel_metric_overflow="true"} 5\n',
    ]


def test_a_histogram_without_labels_has_braces_for_its_bounds_only():
    counted = histogram.Histogram((1,))
    counted.add(1)
    assert "".join(lines(one("h", Kind.HISTOGRAM, "", counted), {}, 9)) == (
        'h_bucket{le="1.0"} 1\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (True, "1"),
        (0.5, "0.5"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_most_names_need_no_escapes():
    assert escaped("%RETRY%group_topic-1|x") == "%RETRY%group_topic-1|x"

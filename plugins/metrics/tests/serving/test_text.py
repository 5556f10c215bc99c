"""The text is what prometheus-client reads."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_metrics.serving.text import TableText, escaped, head, number
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from scrapes import parsed

from mqframe.core.measuring import histogram
from mqframe.core.measuring.family import Family, MetricKind, one

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def lines(family, common=None, most=1000):
    text = TableText((family,), common or {}, most)
    for labels, value in family.series:
        text.add(labels, (value,))
    text.end()
    return "".join(part.decode() for _, part in text.take())


def text_of(family, common=None, most=1000):
    return head(family) + lines(family, common, most)


@given(TEXT, TEXT, st.floats())
def test_any_label_and_number_is_read_back(first, second, value):
    family = Family("name", MetricKind.GAUGE, first, ("a",))
    family.add(value, second)
    (read,) = parsed(text_of(family, {"common": first}))
    (sample,) = read.samples
    assert sample.labels == {"common": first, "a": second}
    assert sample.value == value or (math.isnan(value) and math.isnan(sample.value))


@given(TEXT, TEXT)
def test_any_label_of_a_histogram_is_read_back(first, second):
    family = Family("name", MetricKind.HISTOGRAM, "", ("a",))
    family.add(histogram.Histogram((1,), [2, 3], 7.5), second)
    (read,) = parsed(text_of(family, {"common": first}))
    assert [(sample.name, sample.labels.pop("le", None), sample.value) for sample in read.samples] == [
        ("name_bucket", "1.0", 2),
        ("name_bucket", "+Inf", 5),
        ("name_sum", None, 7.5),
        ("name_count", None, 5),
    ]
    assert all(sample.labels == {"common": first, "a": second} for sample in read.samples)


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
    came = Family("in_total", MetricKind.COUNTER, "what came", ("topic",))
    came.add(3.0, 'a"b')
    sizes = Family("size", MetricKind.HISTOGRAM, "how long", ("topic",))
    sizes.add(ours, "t")
    text = "".join(map(text_of, (came, one("lag", MetricKind.GAUGE, "what waits", 2.5), sizes)))

    def samples(given):
        return [
            (s.name, s.labels, s.value)
            for family in parsed(given)
            for s in family.samples
            if not s.name.endswith("_created")
        ]

    assert sorted(samples(text), key=str) == sorted(samples(generate_latest(registry).decode()), key=str)


def test_what_is_beyond_the_limit_has_the_common_labels_and_its_own():
    family = Family("n", MetricKind.COUNTER, "", ("topic",))
    for value in (1, 2, 3):
        family.add(value, f"t{value}")
    assert lines(family, {"node_id": "a"}, 1) == (
        'n{node_id="a",topic="t1"} 1\nn{node_id="a",otel_metric_overflow="true"} 5\n'
    )


def test_what_stands_for_several_already_joins_the_rest():
    family = Family("n", MetricKind.COUNTER, "", ("topic",))
    for value, labels in ((1, ("t1",)), (2, None), (3, ("t3",)), (4, ("t4",))):
        family.series.append((labels, value))
    assert lines(family, most=2) == 'n{topic="t1"} 1\nn{topic="t3"} 3\nn{otel_metric_overflow="true"} 6\n'


def test_a_histogram_without_labels_has_braces_for_its_bounds_only():
    counted = histogram.Histogram((1,))
    counted.add(1)
    assert lines(one("h", MetricKind.HISTOGRAM, "", counted)) == (
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


def test_only_three_characters_are_escaped():
    assert escaped("%RETRY%group_topic-1|x") == "%RETRY%group_topic-1|x"
    assert escaped('a\\b"c\nd') == 'a\\\\b\\"c\\nd'

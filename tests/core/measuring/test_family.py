from mqframe.core.measuring.family import Family, Kind, one
from mqframe.core.measuring.histogram import Histogram


def test_beyond_the_limit_the_newest_come_as_one_sum():
    family = Family("n", Kind.COUNTER, "", ("topic",))
    for number in range(5):
        family.add(number, f"t{number}")
    assert family.limited(5) == (family.series, None)
    assert family.limited(2) == ([(("t0",), 0), (("t1",), 1)], 2 + 3 + 4)


def test_of_delays_the_longest_stands_for_the_rest():
    family = Family("n", Kind.GAUGE, "", ("topic",), max)
    for number in (1, 7, 3):
        family.add(number, str(number))
    assert family.limited(1) == ([(("1",), 1)], 7)


def test_histograms_beyond_the_limit_are_merged():
    family = Family("n", Kind.HISTOGRAM, "", ("topic",))
    for number in range(3):
        histogram = Histogram((10,))
        histogram.add(number)
        family.add(histogram, str(number))
    _, rest = family.limited(1)
    assert isinstance(rest, Histogram)
    assert (rest.counts, rest.sum) == ([2, 0], 3)


def test_one_has_no_labels():
    assert one("n", Kind.GAUGE, "", 3).series == [((), 3)]

from mqframe.core.measuring.family import KEYS_MAX, Family, MetricKind, key_in, one
from mqframe.core.measuring.histogram import Histogram


def together(family, *values):
    found = None
    for value in values:
        found = family.together(found, value)
    return found


def test_a_sum_stands_for_several_counts():
    assert together(Family("n", MetricKind.COUNTER, ""), 2, 3, 4) == 9


def test_of_delays_the_longest_stands_for_the_rest():
    assert together(Family("n", MetricKind.GAUGE, "", ("topic",), max), 1, 7, 3) == 7


def test_histograms_are_merged_and_stay_what_they_were():
    first, second = Histogram((10,)), Histogram((10,))
    first.add(1)
    second.add(2)
    rest = together(Family("n", MetricKind.HISTOGRAM, ""), first, second)
    assert (rest.counts, rest.sum) == ([2, 0], 3)
    assert first.counts == [1, 0]


async def test_a_table_has_the_series_that_were_taken_in():
    async def rows(table):
        return [row async for row in table.rows]

    family = Family("n", MetricKind.GAUGE, "", ("topic",))
    family.add(1, "a")
    family.add(2, "b")
    assert family.table().families == (family,)
    assert await rows(family.table()) == [(("a",), (1,)), (("b",), (2,))]


def test_one_has_no_labels():
    assert one("n", MetricKind.GAUGE, "", 3).series == [((), 3)]


def test_beyond_so_many_keys_new_ones_count_together():
    table = {(str(number),): 1 for number in range(KEYS_MAX - 1)}
    assert key_in(table, ("new",)) == ("new",)
    table["new",] = 1
    assert key_in(table, ("newer",)) is None
    assert key_in(table, ("new",)) == ("new",)

import asyncio
import itertools

from mqframe_metrics.serving.gathering import Gatherer
from scrapes import Scrape, scrape

from mqframe.core.measuring.family import Family, MetricKind, MetricTable, one


class Source:
    def __init__(self, node, *families):
        self.labels = {"node_id": node}
        self._families = families

    async def families(self):
        for family in self._families:
            yield family


def many(count):
    family = Family("n", MetricKind.GAUGE, "", ("topic",))
    for number in range(count):
        family.add(number, f"t{number}")
    return family


async def test_what_several_servers_have_under_one_name_stands_together():
    text = await scrape(
        Source("a", one("x", MetricKind.GAUGE, "", 1), one("y", MetricKind.GAUGE, "", 2)),
        Source("b", one("x", MetricKind.GAUGE, "", 3)),
    )
    assert text.count("# TYPE x gauge") == 1
    shown = Scrape(text)
    assert (shown.value("x", node_id="a"), shown.value("x", node_id="b")) == (1, 3)


async def test_a_metric_without_series_is_left_out():
    assert await scrape(Source("a", Family("x", MetricKind.GAUGE, "", ("t",)))) == ""


async def test_the_loop_turns_while_a_long_text_is_written():
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    # Each look at the clock is 0.2 ms later, so each third series ends a turn.
    looks = itertools.count()
    gatherer = Gatherer(10**6, lambda: next(looks) * 0.0002)
    gatherer.sources.append(Source("a", many(300)))
    counting = asyncio.create_task(count())
    await asyncio.sleep(0)
    text = b"".join(await gatherer.text())
    counting.cancel()
    assert turns >= 90
    assert text.count(b"\n") == 2 + 300


async def test_one_text_is_made_after_the_other():
    running = most = 0

    class Slow(Source):
        async def families(self):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            yield one("x", MetricKind.GAUGE, "", 1)

    gatherer = Gatherer(10)
    gatherer.sources.append(Slow("a"))
    first, second = await asyncio.gather(gatherer.text(), gatherer.text())
    assert first == second
    assert most == 1


async def test_rows_of_several_metrics_are_made_while_they_are_written():
    made = []

    async def rows():
        for number in range(3):
            made.append(number)
            yield (f"t{number}",), (number, -number)
        yield None, (10, -10)

    families = [Family(name, MetricKind.GAUGE, "", ("topic",)) for name in ("x", "y")]
    source = Source("a", MetricTable(families, rows()))
    assert made == []
    shown = Scrape(await scrape(source, series_max=2))
    assert [labels.get("topic") for labels in shown.labels("x")] == ["t0", "t1", None]
    assert shown.value("x", otel_metric_overflow="true") == 12
    assert shown.value("y", otel_metric_overflow="true") == -12
    assert shown.value("y", topic="t1") == -1

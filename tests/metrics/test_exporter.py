import asyncio

from scrapes import Scrape, scrape

from mqframe.core.measuring.family import Family, Kind, one
from mqframe.metrics.exporter import TURN_SERIES, Exporter


class Source:
    def __init__(self, node, *families):
        self.labels = {"node_id": node}
        self._families = families

    async def families(self):
        for family in self._families:
            yield family


def many(count):
    family = Family("n", Kind.GAUGE, "", ("topic",))
    for number in range(count):
        family.add(number, f"t{number}")
    return family


def test_what_several_servers_have_under_one_name_stands_together():
    text = asyncio.run(
        scrape(
            Source("a", one("x", Kind.GAUGE, "", 1), one("y", Kind.GAUGE, "", 2)),
            Source("b", one("x", Kind.GAUGE, "", 3)),
        )
    )
    assert text.count("# TYPE x gauge") == 1
    shown = Scrape(text)
    assert (shown.value("x", node_id="a"), shown.value("x", node_id="b")) == (1, 3)


def test_a_metric_without_series_is_left_out():
    assert asyncio.run(scrape(Source("a", Family("x", Kind.GAUGE, "", ("t",))))) == ""


def test_the_loop_turns_while_a_long_text_is_written():
    async def scenario():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        text = await scrape(Source("a", many(20 * TURN_SERIES)), series_max=10**6)
        counting.cancel()
        assert turns >= 20
        assert text.count("\n") == 2 + 20 * TURN_SERIES

    asyncio.run(scenario())


def test_one_text_is_made_after_the_other():
    async def scenario():
        running = most = 0

        class Slow(Source):
            async def families(self):
                nonlocal running, most
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                running -= 1
                yield one("x", Kind.GAUGE, "", 1)

        exporter = Exporter(10)
        exporter.sources.append(Slow("a"))
        first, second = await asyncio.gather(exporter.text(), exporter.text())
        assert first == second
        assert most == 1

    asyncio.run(scenario())

"""What the broker counts: under which names, and over how long."""

from __future__ import annotations

from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.tables.statistics import ACKNOWLEDGED, DEAD, TURN_COUNTS, Statistics


async def counted() -> tuple[ManualClock, Statistics]:
    """6 messages of 60 bytes put into t, 4 of them given to g, after which a minute passed."""
    clock = ManualClock()
    statistics = Statistics(clock, "c")
    put = statistics.topic("t")
    put.add(4, 40)
    put.add(2, 20, "delay")
    statistics.put.total += 6
    statistics.got("g", "t", 3, 30, 0.004)
    statistics.got("g", "t", 1, 10, 0.002)
    for _ in range(6):
        clock.advance(10)
        await statistics.sample_in_turns()
    return clock, statistics


def minute(clock: ManualClock, statistics: Statistics, name: str, key: str) -> tuple[int, float] | None:
    count = statistics.count(name, key)
    found = None if count is None else count.minute(clock.monotonic())
    return None if found is None else (found.sum, round(found.per_call, 2))


async def test_types_and_sizes_of_what_comes_in_are_kept_apart() -> None:
    _, statistics = await counted()
    put = statistics.topic("t")
    put.add(1, 5000)
    assert (put.total, put.times, put.size.total, put.sizes) == (7, 3, 5060, [6, 0, 1, 0, 0, 0, 0])
    delayed = put.types["delay"]
    assert (delayed.total, delayed.size_bytes, delayed.sizes) == (2, 20, [2, 0, 0, 0, 0, 0, 0])


def test_what_seldom_happens_is_kept_by_name_topic_and_group() -> None:
    statistics = Statistics(ManualClock())
    statistics.add(DEAD, "t", "g", 2)
    statistics.add(ACKNOWLEDGED, "t", "g")
    assert [(key, count.total) for key, count in statistics.seldom()] == [
        ((DEAD, "t@g"), 2),
        ((ACKNOWLEDGED, "t@g"), 1),
    ]


async def test_counts_go_by_the_names_of_the_system() -> None:
    clock, statistics = await counted()
    assert minute(clock, statistics, "TOPIC_PUT_NUMS", "t") == (6, 3.0)
    assert minute(clock, statistics, "TOPIC_PUT_SIZE", "t") == (60, 30.0)
    assert minute(clock, statistics, "GROUP_GET_NUMS", "t@g") == (4, 2.0)
    assert minute(clock, statistics, "GROUP_GET_SIZE", "t@g") == (40, 20.0)
    assert minute(clock, statistics, "GROUP_GET_LATENCY", "0@t@g") == (6, 3.0)
    assert minute(clock, statistics, "BROKER_PUT_NUMS", "c") == (6, 3.0)
    assert minute(clock, statistics, "BROKER_GET_NUMS", "c") == (4, 2.0)
    for name, key in (
        ("TOPIC_PUT_NUMS", "u"),
        ("GROUP_GET_NUMS", "t"),
        ("BROKER_PUT_NUMS", "d"),
        (DEAD, "t@g"),
    ):
        assert statistics.count(name, key) is None


async def test_rates_are_those_of_the_last_minute() -> None:
    clock, statistics = await counted()
    assert (statistics.put_rate("t"), statistics.get_rate("g", "t")) == (0.1, 0.07)
    assert statistics.put_rate("u") == statistics.get_rate("g", "u") == 0.0
    for _ in range(7):
        clock.advance(10)
        await statistics.sample_in_turns()
    assert statistics.put_rate("t") == 0.0


async def test_what_seldom_happens_is_counted_by_topic_and_group() -> None:
    _, statistics = await counted()
    statistics.add(ACKNOWLEDGED, "t", "g", 5)
    await statistics.sample_in_turns()
    count = statistics.count(ACKNOWLEDGED, "t@g")
    assert count is not None
    assert count.total == 5
    assert statistics.count(ACKNOWLEDGED, "t@h") is None


async def test_what_is_deleted_is_forgotten() -> None:
    _, statistics = await counted()
    statistics.got("h", "t", 1)
    statistics.got("h", "u", 1)
    statistics.add(DEAD, "u", "h")
    statistics.forget_topic("t")
    assert (list(statistics.puts), list(statistics.gets)) == ([], [("h", "u")])
    statistics.forget_group("h")
    assert statistics.gets == {}
    assert statistics.count(DEAD, "u@h") is None


async def test_a_day_begins_at_midnight() -> None:
    clock, statistics = await counted()
    assert (statistics.yesterday, statistics.morning) == ((0, 0), (0, 0))
    clock.advance(86_400)
    await statistics.sample_in_turns()
    assert (statistics.yesterday, statistics.morning) == ((0, 0), (6, 4))
    statistics.put.total += 1
    clock.advance(86_400)
    await statistics.sample_in_turns()
    assert (statistics.yesterday, statistics.morning) == ((6, 4), (7, 4))


async def test_all_counts_are_sampled_however_many_there_are():
    clock = ManualClock()
    statistics = Statistics(clock)
    for number in range(TURN_COUNTS):
        statistics.topic(f"t{number}").total += number
    clock.advance(10)
    await statistics.sample_in_turns()
    clock.advance(60)
    await statistics.sample_in_turns()
    last = f"t{TURN_COUNTS - 1}"
    assert statistics.topic(last).minute(clock.monotonic()).sum == 0
    assert statistics.topic(last).hour(clock.monotonic()).sum == TURN_COUNTS - 1


async def test_sizes_of_deleted_topics_stay_in_the_sum() -> None:
    _, statistics = await counted()
    statistics.topic("u").size.total += 5
    assert statistics.put_bytes == 65
    statistics.forget_topic("t")
    statistics.forget_topic("unknown")
    assert statistics.put_bytes == 65


async def test_rates_of_several_counts_are_those_of_all_together() -> None:
    _, statistics = await counted()
    statistics.missed.total += 6
    assert statistics.found.total == 2
    assert statistics.rates(statistics.found).split()[1] == "0.03"
    assert statistics.rates(statistics.found, statistics.missed).split()[1] == "0.13"

"""When a message comes again: by levels, by its group's policy, and in order."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from mqframe_admin.rules.retry_waits import listed_waits
from mqframe_pop.client.push.retry_times import REFRESH_SECONDS, RetryTimes
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, ConnectError
from mqframe.core.wire import loose_json


class Brokers:
    """Two brokers, with what each answers in turn."""

    def __init__(self, *answers) -> None:
        self.broker_versions = {"a:1": 0, "b:1": 0}
        self.answers = list(answers)
        self.asked: list[str] = []

    async def call(self, address: str, request):
        self.asked.append(address)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(body=loose_json.dumps(answer))


def times(*, ordered: bool = False, clock: ManualClock | None = None) -> RetryTimes:
    clock = clock or ManualClock()
    plan = SimpleNamespace(group="g", clock=clock, settings=ConsumerSettings(), ordered=ordered)
    return RetryTimes(plan)  # type: ignore[arg-type]


def group(*waits: int, ordered: bool = False) -> SubscriptionGroupConfig:
    return SubscriptionGroupConfig(
        "g", group_retry_policy=listed_waits(waits), consume_message_orderly=ordered
    )


def test_levels_count_where_the_group_says_nothing() -> None:
    assert [times().seconds(n, 0) for n in (0, 1, 2, 15, 99)] == [10.0, 30.0, 60.0, 7200.0, 7200.0]
    assert [times().seconds(7, level) for level in (1, 2, 18, 99)] == [1.0, 5.0, 7200.0, 7200.0]


async def test_the_policy_counts_unless_the_listener_asks_for_a_level() -> None:
    made, brokers = times(), Brokers(group(1_000, 4_000))
    await made.refresh(brokers)
    assert [made.seconds(n, 0) for n in (0, 1, 2, 9)] == [1.0, 4.0, 4.0, 4.0]
    assert made.seconds(0, 3) == 10.0
    assert brokers.asked == ["a:1"]


async def test_in_order_there_is_one_wait() -> None:
    made = times(ordered=True)
    assert [made.seconds(n, level) for n, level in ((0, 0), (5, 0), (1, 7))] == [1.0] * 3
    await made.refresh(Brokers(group(2_500, 4_000, ordered=True)))
    assert made.seconds(3, 0) == 2.5


@pytest.mark.parametrize(
    ("pause_ms", "seconds"), [(None, 1.0), (-1, 1.0), (7_000, 7.0), (0, 0.01), (1.5, 0.01), (99_000, 30.0)]
)
def test_in_order_the_listener_has_the_last_word_within_the_bounds_of_pulls(pause_ms, seconds) -> None:
    assert times(ordered=True).seconds(4, 2, pause_ms) == seconds
    assert times().seconds(0, 0, pause_ms) == 10.0, "without an order there is no queue that could pause"


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([ConnectError("away"), group(7_000)], ["a:1", "b:1"]),
        ([AnswerError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "what?", "a:1")], ["a:1"]),
    ],
)
async def test_brokers_that_are_away_are_passed_over_and_old_ones_believed(answers, asked) -> None:
    made, brokers = times(), Brokers(*answers)
    await made.refresh(brokers)
    assert brokers.asked == asked
    assert made.seconds(0, 0) == (7.0 if len(asked) == 2 else 10.0)


async def test_it_is_asked_for_again_once_a_minute() -> None:
    clock = ManualClock()
    made, brokers = times(clock=clock), Brokers(group(7_000), group(8_000))
    await made.refresh(brokers)
    clock.advance(REFRESH_SECONDS - 1)
    await made.refresh(brokers)
    assert made.seconds(0, 0) == 7.0
    clock.advance(2)
    await made.refresh(brokers)
    assert made.seconds(0, 0) == 8.0

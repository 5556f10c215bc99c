"""What is asked before a consumer joins, of a broker whose answers are scripted."""

from __future__ import annotations

import pytest
from mqframe_admin.rules.retry_waits import listed_waits
from mqframe_testing.consuming import ClientScene

from mqframe.client.consuming.group.joining import check_filters, group_interval, look_up
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, CallTimeout, FixError, RouteError
from mqframe.core.filtering.filter_expression import Sql, filter_of
from mqframe.core.requests.admin import GetSubscriptionGroupConfig
from mqframe.core.requests.consumers import CheckClientConfig
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps


def interest(expression, topic="orders"):
    return TopicSubscription(topic, filter_of(expression), 1)


def config(*waits: int, ordered: bool = True):
    group = SubscriptionGroupConfig(
        "g", consume_message_orderly=ordered, group_retry_policy=listed_waits(waits)
    )
    return lambda request: Frame(0, flag=1, body=dumps(group))


class TestRoutes:
    async def test_routes_are_in_the_cache_afterwards_and_a_missing_topic_is_left_out(self) -> None:
        async with ClientScene() as scene:
            await look_up(scene.instance, "g", ["orders", "later"])
            assert scene.instance.routes.known("orders") is not None
            assert scene.instance.routes.known("later") is None

    async def test_a_name_server_that_does_not_answer_ends_the_start(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(GetRouteinfoByTopic, *[CallTimeout("late")] * 5)
            with pytest.raises(RouteError):
                await scene.finish(look_up(scene.instance, "g", ["orders"]))


class TestFilters:
    async def test_only_sql_is_checked(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(CheckClientConfig, lambda request: Frame(0, flag=1, version=477))
            await check_filters(scene.instance, "g", [interest("a || b"), interest(Sql("n > 3"))])
            assert len(scene.broker.sent(CheckClientConfig)) == 1

    async def test_what_the_broker_refuses_is_raised(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(CheckClientConfig, AnswerError(23, "n >", scene.broker.address))
            with pytest.raises(AnswerError) as caught:
                await check_filters(scene.instance, "g", [interest(Sql("n > 3"))])
            assert caught.value.code == 23

    @pytest.mark.parametrize("answer", [lambda request: Frame(0, flag=1, version=477), CallTimeout("late")])
    async def test_what_a_broker_takes_though_it_is_wrong_is_refused_here(self, answer: object) -> None:
        async with ClientScene() as scene:
            scene.broker.script(CheckClientConfig, answer)
            with pytest.raises(FixError, match="character 7: '\\)' stands behind"):
                await check_filters(scene.instance, "g", [interest(Sql("n > 3 )"))])

    async def test_a_broker_that_is_too_old_is_named(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(CheckClientConfig, lambda request: Frame(0, flag=1, version=1))
            with pytest.raises(FixError, match=scene.broker.address):
                await check_filters(scene.instance, "g", [interest(Sql("n > 3"))])

    async def test_a_broker_that_is_away_and_a_topic_without_route_are_passed_over(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(CheckClientConfig, CallTimeout("late"))
            await check_filters(scene.instance, "g", [interest(Sql("n > 3")), interest(Sql("n > 3"), "no")])


class TestInterval:
    async def test_the_first_broker_that_answers_counts(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(GetSubscriptionGroupConfig, CallTimeout("late"), config(7000, 9000))
            assert await group_interval(scene.instance, "g", ["a:1", "b:1", "c:1"]) == 7000
            assert len(scene.broker.sent(GetSubscriptionGroupConfig)) == 2

    async def test_a_group_that_does_not_consume_in_order_has_none(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(GetSubscriptionGroupConfig, config(7000, ordered=False))
            assert await group_interval(scene.instance, "g", ["a:1"]) is None

    async def test_a_broker_that_knows_no_such_setting_ends_the_search(self) -> None:
        async with ClientScene() as scene:
            scene.broker.script(GetSubscriptionGroupConfig, AnswerError(3, "unknown code", "a:1"))
            assert await group_interval(scene.instance, "g", ["a:1", "b:1"]) is None
            assert len(scene.broker.sent(GetSubscriptionGroupConfig)) == 1

    async def test_without_brokers_there_is_none(self) -> None:
        async with ClientScene() as scene:
            assert await group_interval(scene.instance, "g", []) is None

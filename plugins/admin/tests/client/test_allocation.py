"""What a plan says of members that run, on a manual clock."""

from __future__ import annotations

import pytest
from operators import GROUP, OperatorScene

from mqframe import AllocationStrategy, ClientSettings
from mqframe.client.connection.instance import ClientInstance, ConsumerRegistration
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.errors import FixError, PluginError, SettingError
from mqframe.core.filtering.bodies import SubscriptionData

IDS = ["m1", "m2"]


class Selfish(AllocationStrategy):
    """Each member takes the first queue."""

    wire_name = "SELFISH"

    def allocate(self, group, client_id, queues, clients):
        return list(queues[:1])


class Moody(Selfish):
    """Fails for topic orders."""

    def allocate(self, group, client_id, queues, clients):
        if queues[0].topic == "orders":
            raise RuntimeError("not today")
        return super().allocate(group, client_id, queues, clients)


async def two(scene):
    """Members m1 and m2, each with one queue of topic orders, m1 with the one of the retry topic."""
    one = await scene.join()
    other = await scene.join(name="m2")
    await scene.until(lambda: len(one.queues) == len(other.queues) == 1)
    await scene.clock.aadvance(20)  # the retry topic's queue is not among `queues`
    return one, other


def owners(plan, of="then"):
    return {
        (each.queue.topic, each.queue.queue_id): [client.rpartition("@")[2] for client in getattr(each, of)]
        for each in plan.queues
    }


async def test_what_is_and_what_would_be():
    async with OperatorScene() as scene:
        one, other = await two(scene)
        plan = await scene.admin.allocation.plan(GROUP, "by_config", {"queues": ["orders/broker-a/1"]})
        assert plan.now == plan.then == (one.client_id, other.client_id)
        assert owners(plan, "now") == {
            ("%RETRY%billing", 0): IDS[:1],
            ("orders", 0): IDS[:1],
            ("orders", 1): IDS[1:],
        }
        assert plan.before == {one.client_id: 2, other.client_id: 1}
        # All would have the same queue: the options are each member's own in truth.
        assert owners(plan) == {("%RETRY%billing", 0): [], ("orders", 0): [], ("orders", 1): IDS}
        assert plan.moved == 3
        assert [said.partition(" by ")[0] for said in plan.conflicts] == [
            "nobody would own %RETRY%billing/broker-a/0",
            "nobody would own orders/broker-a/0",
            f"{one.client_id}, {other.client_id} would all own orders/broker-a/1",
        ]


async def test_nothing_moves_where_the_strategy_is_the_one_that_is_in_use():
    async with OperatorScene() as scene:
        await two(scene)
        plan = await scene.admin.allocation.plan(GROUP)
        assert (plan.strategy, plan.moved, plan.unknown, plan.problems) == ("averagely", 0, 0, ())
        assert plan.before == plan.after


async def test_members_that_come_and_go():
    async with OperatorScene() as scene:
        one, other = await two(scene)
        plan = await scene.admin.allocation.plan(GROUP, add=["z@new"], remove=[one.client_id])
        assert plan.then == (other.client_id, "z@new")
        assert owners(plan) == {("%RETRY%billing", 0): ["m2"], ("orders", 0): ["m2"], ("orders", 1): ["new"]}
        assert plan.moved == 3
        with pytest.raises(FixError, match="no member of billing is called stranger; members: "):
            await scene.admin.allocation.plan(GROUP, remove=["stranger"])


async def test_a_member_that_does_not_answer_is_named():
    async with OperatorScene() as scene:
        one, other = await two(scene)
        settings = ClientSettings(nameserver=scene.cluster.nameserver, instance_name="m0")
        mute = ClientInstance.connect(settings, scene.clock)  # heartbeats only
        await mute.start()
        await mute.route("orders")
        subscriptions = [
            SubscriptionData(topic=topic, sub_string="*") for topic in ("orders", "%RETRY%billing")
        ]
        data = ConsumerData(GROUP, subscription_data_set=subscriptions)
        mute.register_consumer(GROUP, ConsumerRegistration(lambda: data))
        await scene.until(lambda: [q.queue_id for q in one.queues] == [1] and not other.queues, 60)
        await scene.clock.aadvance(20)
        plan = await scene.admin.allocation.plan(GROUP, add=["0@first"])
        assert list(plan.silent) == [mute.client_id]
        assert f"member {mute.client_id} does not say what it holds: " in plan.problems[0]
        assert plan.before == {mute.client_id: None, one.client_id: 1, other.client_id: 0}
        # What nobody says to have may be what the silent one has.
        assert [each.moves for each in plan.queues] == [None, None, True]
        assert (plan.moved, plan.unknown) == (1, 2)
        await scene.finish(mute.stop())


async def test_groups_that_cannot_be_planned():
    async with OperatorScene() as scene:
        with pytest.raises(FixError, match="no broker knows consumer group nobody"):
            await scene.admin.allocation.plan("nobody")
        await scene.admin.groups.create("asleep")
        with pytest.raises(FixError, match="nobody of consumer group asleep is online"):
            await scene.admin.allocation.plan("asleep")
        await scene.join(broadcasting=True)
        with pytest.raises(FixError, match="consumer group billing broadcasts"):
            await scene.admin.allocation.plan(GROUP)


async def test_strategies_that_cannot_be_used():
    async with OperatorScene() as scene:
        await two(scene)
        with pytest.raises(PluginError, match="did you mean averagely"):
            await scene.admin.allocation.plan(GROUP, "averagly")
        with pytest.raises(SettingError, match="virtual_nodes"):
            await scene.admin.allocation.plan(GROUP, "consistent_hash", {"virtual_nodes": 0})
        with pytest.raises(
            FixError, match=r"Moody fails for topic orders, member .*m1: RuntimeError: not today"
        ):
            await scene.admin.allocation.plan(GROUP, Moody)
        plan = await scene.admin.allocation.plan(GROUP, Selfish())
        assert len(plan.conflicts) == 3
        assert plan.problems == plan.conflicts

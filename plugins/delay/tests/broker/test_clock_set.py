"""Delayed messages in a broker whose wall clock is set forward and back: all come, once, none late."""

from __future__ import annotations

from collections import Counter

import pytest
from mqframe_delay.settings import DelaySettings
from mqframe_testing.cluster_scene import ClusterScene
from timed_messages import bodies, send

HOUR = 3600
JUMPS = [10 * HOUR, -10 * HOUR, HOUR, -HOUR, 30 * 24 * HOUR, -30 * 24 * HOUR]


async def restart(world, how):
    if how == "stop":
        await world.cluster.restart_broker()
    elif how == "kill":
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
    else:
        return
    await world.disconnect(world.client)


async def pass_time(world, seconds):
    await world.clock.aadvance(seconds)
    await world.settle()


async def send_all(world, name):
    await send(world, f"level-{name}", DELAY=2)
    await send(world, f"seconds-{name}", TIMER_DELAY_SEC=6)
    await send(world, f"ms-{name}", TIMER_DELAY_MS=5500)


KINDS = ("level", "seconds", "ms")


@pytest.mark.parametrize("jump", JUMPS)
async def test_delays_pass_in_true_time_while_the_clock_jumps(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        clock = world.clock
        await send_all(world, "before")
        await pass_time(world, 1)
        clock.jump(jump)
        await send_all(world, "while")
        await pass_time(world, 2)
        clock.jump(-jump)
        await send_all(world, "after")
        await pass_time(world, 1)
        assert bodies(world) == []
        await pass_time(world, 4)  # 8 s
        assert {body for body in bodies(world) if body.endswith("before")} == {f"{k}-before" for k in KINDS}
        await pass_time(world, 10)
        assert Counter(bodies(world)) == Counter(
            f"{kind}-{when}" for kind in KINDS for when in ("before", "while", "after")
        )


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_clock_that_stays_set_changes_no_delay(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "minute", DELAY=5)
        await send(world, "half", TIMER_DELAY_SEC=30)
        await pass_time(world, 15)
        world.clock.jump(jump)
        await pass_time(world, 14)
        assert bodies(world) == []
        await pass_time(world, 4)
        assert bodies(world) == ["half"]
        await pass_time(world, 26.5)
        assert bodies(world) == ["half"]
        await pass_time(world, 1)
        assert bodies(world) == ["half", "minute"]


async def test_small_jumps_that_make_a_large_one_change_no_delay():
    async with ClusterScene(topics={"t": 2}) as world:
        world.clock.jump(-0.8)
        await send_all(world, "while")
        world.clock.jump(-1.1)
        await pass_time(world, 4.5)
        await send(world, "later", DELAY=2)  # the broker looks at its levels
        await pass_time(world, 0.4)
        assert bodies(world) == []
        await pass_time(world, 0.2)
        assert bodies(world) == ["level-while"]
        await pass_time(world, 5)
        assert Counter(bodies(world)) == Counter(["later", *(f"{kind}-while" for kind in KINDS)])


@pytest.mark.parametrize("how", ["no", "stop", "kill"])
async def test_a_small_step_back_right_after_a_send_changes_no_delay(how):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "first", DELAY=5)
        world.clock.jump(-0.9)
        await restart(world, how)
        await send(world, "second", DELAY=5)
        await pass_time(world, 59)
        assert bodies(world) == []
        await pass_time(world, 2)
        assert bodies(world) == ["first", "second"]


@pytest.mark.parametrize("how", ["no", "stop", "kill"])
async def test_what_is_no_more_than_the_grain_of_clocks_makes_nothing_early(how):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "first", DELAY=2)
        await restart(world, how)
        world.clock.jump(-0.003)
        await pass_time(world, 5)
        assert bodies(world) == []
        await pass_time(world, 0.003)
        assert bodies(world) == ["first"]


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_time_of_day_follows_the_wall_clock(jump):
    async with ClusterScene(topics={"t": 2}) as world:
        clock = world.clock
        await send(world, "noon", TIMER_DELIVER_MS=clock.now_ms() + 20_000)
        clock.jump(jump)
        await pass_time(world, 6)
        assert bodies(world) == (["noon"] if jump > 0 else [])
        clock.jump(-jump)
        await pass_time(world, 17)
        assert bodies(world) == ["noon"]


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("jump", JUMPS)
async def test_after_a_jump_and_a_restart_delays_are_kept(jump, how):
    async with ClusterScene(topics={"t": 2}) as world:
        clock = world.clock
        clock.jump(jump)
        await send_all(world, "while")
        await pass_time(world, 4)
        clock.jump(-jump)
        await restart(world, how)
        await send_all(world, "after")
        await pass_time(world, 2.9)
        assert not [body for body in bodies(world) if body.endswith("after")]
        await pass_time(world, 10)
        assert set(bodies(world)) == {f"{kind}-{when}" for kind in KINDS for when in ("while", "after")}
        if how == "stop":
            assert len(bodies(world)) == 6


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("jump", JUMPS)
async def test_a_restart_under_a_wrong_clock_loses_and_doubles_nothing(jump, how):
    async with ClusterScene(topics={"t": 2}) as world:
        clock = world.clock
        await send_all(world, "before")
        await send(world, "later", TIMER_DELIVER_MS=clock.now_ms() + 40_000)
        await pass_time(world, 1)
        clock.jump(jump)
        await restart(world, how)
        await send_all(world, "while")
        await pass_time(world, 3)
        clock.jump(-jump)
        await pass_time(world, 10)
        found = set(bodies(world)) - {"later"}
        assert found == {f"{kind}-{when}" for kind in KINDS for when in ("before", "while")}
        await pass_time(world, 30)
        assert Counter(bodies(world)) == Counter(
            [*(f"{kind}-{when}" for kind in KINDS for when in ("before", "while")), "later"]
        )


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_restart_within_a_jump_ahead_delays_nothing(how):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "sent before", TIMER_DELAY_SEC=60)
        await pass_time(world, 10)
        world.clock.jump(3 * HOUR)
        await pass_time(world, 10)
        assert bodies(world) == []
        await restart(world, how)
        await pass_time(world, 10)
        world.clock.jump(-3 * HOUR)
        await pass_time(world, 32)
        assert set(bodies(world)) == {"sent before"}


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_what_a_clock_ahead_stored_is_not_delayed_by_a_restart(how):
    async with ClusterScene(topics={"t": 2}) as world:
        world.clock.jump(3 * HOUR)
        await send(world, "stored ahead", TIMER_DELAY_SEC=60)
        await pass_time(world, 5)
        await world.cluster.stop_broker()
        world.clock.jump(-3 * HOUR)
        await world.cluster.start_broker()
        await pass_time(world, 56)
        assert bodies(world) == ["stored ahead"]


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_clock_that_is_set_back_for_a_while_after_a_restart_changes_no_delay(how):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "sent before", TIMER_DELAY_SEC=60)
        await pass_time(world, 10)
        await restart(world, how)
        await pass_time(world, 10)
        world.clock.jump(-3 * HOUR)
        await pass_time(world, 10)
        world.clock.jump(3 * HOUR)
        await pass_time(world, 29)
        assert bodies(world) == []
        await pass_time(world, 3)
        assert bodies(world) == ["sent before"]


async def test_what_rolls_in_a_jump_is_no_later_after_a_restart():
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(timer_window_slots=60)]) as world:
        await send(world, "rolls", TIMER_DELAY_SEC=100)
        await pass_time(world, 5)
        world.clock.jump(HOUR)
        await pass_time(world, 2)
        world.clock.jump(-HOUR)
        await pass_time(world, 5)
        assert world.store.queues.max_offset("rmq_sys_wheel_timer", 0) == 1
        await restart(world, "stop")
        await pass_time(world, 87)
        assert bodies(world) == []
        await pass_time(world, 3)
        assert bodies(world) == ["rolls"]


async def test_what_waits_is_not_skipped_when_the_broker_was_down_for_long():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "due", TIMER_DELAY_SEC=60)
        await world.cluster.stop_broker()
        world.clock.jump(40 * 24 * HOUR)
        await world.cluster.start_broker()
        await pass_time(world, 1)
        assert bodies(world) == ["due"]

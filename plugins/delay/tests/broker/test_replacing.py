"""Messages in the wheel whose slot changes because the clock was set back."""

from __future__ import annotations

from broker.conftest import LocalStore
from mqframe_delay.broker.replacing import TimerReplacing
from mqframe_testing.cluster_scene import ClusterScene
from timed_messages import bodies, send
from timers import NOW, Timer

from mqframe.core.requests.messages import RecallMessage

HOUR = 3600


async def restart(world):
    await world.cluster.kill_broker()
    await world.cluster.start_broker()
    await world.disconnect(world.client)


async def pass_time(world, seconds):
    await world.clock.aadvance(seconds)
    await world.settle()


async def test_slots_that_come_twice_deliver_once_and_take_new_messages():
    async with ClusterScene(topics={"t": 2}) as world:
        clock = world.clock
        times = [clock.now_ms() + seconds * 1000 for seconds in (20, 30, 50)]
        for time in times:
            await send(world, str(time), TIMER_DELIVER_MS=time)
        clock.jump(10 * HOUR)
        for _ in range(12):  # until it is on disk how far the timer is
            await pass_time(world, 1)
        assert bodies(world) == [str(time) for time in times]
        clock.jump(-10 * HOUR)
        await send(world, "again", TIMER_DELIVER_MS=times[1])
        await restart(world)
        await pass_time(world, 25)
        assert bodies(world) == [*(str(time) for time in times), "again"]
        await pass_time(world, 30)
        assert len(bodies(world)) == 4


async def test_a_recall_reaches_a_message_whose_slot_was_changed():
    async with ClusterScene(topics={"t": 2}) as world:
        clock = world.clock
        clock.jump(HOUR)
        handle = await send(world, "recalled", TIMER_DELAY_SEC=20, UNIQ_KEY="u1")
        await send(world, "kept", TIMER_DELAY_SEC=20, UNIQ_KEY="u2")
        await world.client.ok(RecallMessage(producer_group="g", topic="t", recall_handle=handle))
        await pass_time(world, 1)
        clock.jump(-HOUR)
        await pass_time(world, 21)
        assert bodies(world) == ["kept"]


async def test_only_delays_move_and_what_stays_keeps_its_order(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        local.clock.jump(600)
        timer.files.move_write_time(local.clock.now_ms())
        due = 600 + 30
        timer.sent(b"first", due)
        timer.sent(b"delay", due, TIMER_DELAY_SEC=31)
        timer.sent(b"last", due)
        await timer.take_all()
        before = timer.waiting(due)
        local.clock.jump(-600)
        timer.files.move_write_time(local.clock.now_ms())
        await TimerReplacing(timer.parts).run()
        assert [unit.log_offset for unit in timer.waiting(due)] == [
            before[0].log_offset,
            before[2].log_offset,
        ]
        assert [unit.log_offset for unit in timer.waiting(30)] == [before[1].log_offset]
        assert timer.files.waiting == 3
        size = timer.files._log.end
        await TimerReplacing(timer.parts).run()
        assert timer.files._log.end == size  # nothing moves twice


async def test_a_unit_that_was_moved_before_a_kill_is_entered_once(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        local.clock.jump(600)
        timer.files.move_write_time(local.clock.now_ms())
        timer.sent(b"delay", 600 + 30, TIMER_DELAY_SEC=31)
        await timer.take_all()
        local.clock.jump(-600)
        timer.files.move_write_time(local.clock.now_ms())
        await TimerReplacing(timer.parts).run()
        timer.files.close()
        again = Timer(local)
        assert [(slot.time, slot.messages) for slot in again.slots()] == [(NOW + 30_000, 1)]

"""A slot that has ended is delivered in order, each message once, without those that were recalled."""

from __future__ import annotations

import pytest
from broker.conftest import LocalStore
from mqframe_delay.broker.dequeue import TimerDequeue
from mqframe_delay.store.timer_store import TimerDamage
from timers import NOW, TIMER_TOPIC, Timer

from mqframe.core.errors import Refusal


async def dequeue_of(timer, seconds):
    """The delivery of the earliest slot, `seconds` after the start."""
    local = timer.local
    await timer.take_all()
    local.clock.advance(seconds)
    slot = timer.files.next_slot(timer.files.move_write_time(local.clock.now_ms()))
    return TimerDequeue(slot, timer.parts)


async def test_a_slot_comes_oldest_message_first_and_whole(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"a", 3, TAGS="red", UNIQ_KEY="u1", born_timestamp=NOW - 7, flag=3, reconsume_times=2)
        timer.sent(b"elsewhere", 3, REAL_TOPIC="u", REAL_QID=0)
        timer.sent(b"later", 4)
        for number in range(150):
            timer.sent(b"%d" % number, 3)
        dequeue = await dequeue_of(timer, 4.2)
        assert dequeue.slot.time == NOW + 3000
        await dequeue.deliver()
        found = local.messages("t", 1)
        assert [message.body for message in found] == [b"a", *[b"%d" % number for number in range(150)]]
        first = found[0]
        assert (first.born_timestamp, first.flag, first.reconsume_times) == (NOW - 7, 3, 2)
        assert first.properties == {
            "TAGS": "red", "UNIQ_KEY": "u1", "REAL_TOPIC": "t", "REAL_QID": "1",
            "TIMER_OUT_MS": str(NOW + 3000), "TIMER_ENQUEUE_MS": str(NOW),
            "TIMER_DEQUEUE_MS": str(NOW + 4200),
        }  # fmt: skip
        assert local.bodies("u") == [b"elsewhere"]
        assert (timer.metrics.count("t"), timer.metrics.count("u")) == (1, 0)


async def test_a_recall_takes_back_the_message_of_its_topic_and_key_only(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"before", 3, UNIQ_KEY="u1")
        timer.sent(b"gone", 3, UNIQ_KEY="u2")
        timer.sent(b"other topic", 3, UNIQ_KEY="u2", REAL_TOPIC="v")
        timer.sent(b"0", 3, TIMER_DEL_UNIQKEY="t+u2")
        timer.sent(b"without a key", 3)
        await (await dequeue_of(timer, 4)).deliver()
        assert local.bodies("t", 1) == [b"before", b"without a key"]
        assert local.bodies("v", 1) == [b"other topic"]
        # The recall was counted against what it took back when it came in.
        assert (timer.metrics.count("t"), timer.metrics.count("v")) == (0, 0)


async def test_what_is_due_later_goes_round_again(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local, window_slots=4)
        timer.sent(b"far", 20, UNIQ_KEY="u1")
        dequeue = await dequeue_of(timer, 5)
        assert dequeue.slot.time == NOW + 4000
        await dequeue.deliver()
        assert local.bodies("t", 1) == []
        again = local.messages(TIMER_TOPIC)[1]
        assert (again.body, again.properties["TIMER_OUT_MS"]) == (b"far", str(NOW + 20_000))
        assert (again.properties["REAL_TOPIC"], again.properties["TIMER_ROLL_TIMES"]) == ("t", "1")
        assert timer.metrics.count("t") == 0, "it is counted when it comes in again"
        timer.files.delivered(dequeue.slot)
        await (await dequeue_of(timer, 5)).deliver()
        assert local.messages(TIMER_TOPIC)[2].properties["TIMER_ROLL_TIMES"] == "2"


@pytest.mark.parametrize("taken", [0, 1, 63, 64, 99])
async def test_it_goes_on_where_the_store_refused(taken, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        for number in range(100):
            timer.sent(b"%d" % number, 3)
        dequeue = await dequeue_of(timer, 4)
        local.take_only(taken)
        for _ in range(2):
            with pytest.raises(Refusal, match="the disk is full"):
                await dequeue.deliver()
        assert (len(local.bodies("t", 1)), timer.metrics.count("t")) == (taken, 100 - taken)
        local.take_only(None)
        await dequeue.deliver()
        assert local.bodies("t", 1) == [b"%d" % number for number in range(100)]
        assert timer.metrics.count("t") == 0
        await dequeue.deliver()
        assert len(local.bodies("t", 1)) == 100, "all was delivered before"


async def test_what_the_log_no_longer_holds_is_left_out(monkeypatch, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"a", 3)
        await timer.take_all()
        timer.files.add(NOW + 3000, 1 << 40, 100, 0, recalls=False)
        timer.files.add(NOW + 3000, 1 << 40, 100, 0, recalls=True)
        timer.sent(b"b", 3)
        dequeue = await dequeue_of(timer, 4)
        with pytest.raises(TimerDamage, match="names no message"):
            await dequeue.deliver()
        # That the log does not hold it any more is no damage.
        monkeypatch.setattr(type(local.store.log), "min_offset", 1 << 41)
        await dequeue.deliver()
        assert local.bodies("t", 1) == [b"a", b"b"]
        assert list(local.left_out.messages.newest) == []

"""What comes into the timer topic waits in the wheel, once; what is due already goes where it belongs."""

from __future__ import annotations

import os

import pytest
from broker.conftest import LocalStore
from mqframe_delay.broker.enqueue import TimerEnqueue
from mqframe_delay.rules.timer_rules import NEVER_ENQUEUED
from timers import NOW, TIMER_TOPIC, Timer

from mqframe.core.errors import Refusal
from mqframe.core.messages.java_hash import java_hash


async def test_a_message_waits_in_its_slot(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        stored = [timer.sent(b"a", 5), timer.sent(b"b", 7), timer.sent(b"c", 5)]
        local.clock.advance(2.5)
        await timer.take_all()
        slots = [(slot.time, slot.messages) for slot in timer.slots()]
        assert slots == [(NOW + 5000, 2), (NOW + 7000, 1)]
        [first, second] = timer.waiting(5)
        assert (first.log_offset, first.size) == (stored[0].commit_log_offset, stored[0].size)
        assert (first.topic_hash, first.write_time) == (java_hash("t"), NOW + 2000)
        assert not first.rolls
        assert not first.recalls
        assert second.log_offset == stored[2].commit_log_offset
        assert [unit.log_offset for unit in timer.waiting(7)] == [stored[1].commit_log_offset]
        assert (timer.metrics.count("t"), timer.files.queue_offset) == (3, 3)
        assert local.bodies("t", 1) == []


async def test_a_recall_waits_beside_what_it_takes_back_and_counts_against_it(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"message", 5)
        timer.sent(b"0", 5, TIMER_DEL_UNIQKEY="t+u")
        await timer.take_all()
        assert [unit.recalls for unit in timer.waiting(5)] == [False, True]
        assert (timer.metrics.count("t"), timer.files.waiting) == (0, 0)


async def test_others_have_their_turn_after_64_messages(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        for number in range(70):
            timer.sent(b"%d" % number, 5)
        enqueue = TimerEnqueue(timer.parts)
        assert enqueue.behind == 70
        await enqueue.take_slice()
        assert (enqueue.behind, timer.files.queue_offset) == (6, 64)
        await enqueue.take_slice()
        assert (enqueue.behind, timer.files.queue_offset, timer.metrics.count("t")) == (0, 70, 70)
        await enqueue.take_slice()
        assert timer.files.queue_offset == 70


async def test_what_is_due_already_is_delivered_at_once(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"late", 2, TAGS="red", born_timestamp=NOW - 7, flag=3)
        timer.sent(b"in time", 3)
        local.clock.advance(3.9)
        await timer.take_all()
        [message] = local.messages("t", 1)
        assert (message.body, message.born_timestamp, message.flag) == (b"late", NOW - 7, 3)
        assert message.properties["TAGS"] == "red"
        assert message.properties["TIMER_ENQUEUE_MS"] == str(NEVER_ENQUEUED)
        assert message.properties["TIMER_DEQUEUE_MS"] == str(NOW + 3900)
        assert "TIMER_ROLL_TIMES" not in message.properties
        assert [(slot.time, slot.messages) for slot in timer.slots()] == [(NOW + 3000, 1)]
        assert (timer.metrics.count("t"), timer.files.queue_offset) == (1, 2)


async def test_a_recall_that_comes_too_late_is_dropped(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"0", 2, TIMER_DEL_UNIQKEY="t+u")
        local.clock.advance(3)
        await timer.take_all()
        assert (local.bodies("t", 1), timer.slots(), timer.metrics.count("t")) == ([], [], 0)
        assert timer.files.queue_offset == 1


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"TIMER_OUT_MS": "x", "REAL_TOPIC": "t"},
        {"TIMER_OUT_MS": NOW + 5000},
        {"TIMER_OUT_MS": "9" * 5000, "REAL_TOPIC": "t"},
    ],
)
async def test_strangers_hold_nobody_up(properties, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        local.put(TIMER_TOPIC, b"stranger", **properties)
        stored = timer.sent(b"mine", 5)
        await timer.take_all()
        assert [unit.log_offset for unit in timer.waiting(5)] == [stored.commit_log_offset]
        assert len(timer.slots()) == 1
        (noted,) = local.left_out.messages.newest
        assert (noted.topic, noted.queue_offset, noted.log_offset) == (TIMER_TOPIC, 0, 0)


async def test_an_error_of_the_wheel_leaves_one_message_out(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        for body in (b"a", b"odd", b"b"):
            timer.sent(body, 5)
        odd = local.messages(TIMER_TOPIC)[1].commit_log_offset
        add = timer.files.add

        def failing(out_time, log_offset, *more, **also):
            if log_offset == odd:
                raise OverflowError("odd")
            add(out_time, log_offset, *more, **also)

        timer.files.add = failing
        await timer.take_all()
        assert len(timer.waiting(5)) == 2
        assert [each.log_offset for each in local.left_out.messages.newest] == [odd]
        assert timer.files.queue_offset == 3


async def test_what_the_wheel_knew_before_a_kill_does_not_come_into_it_twice(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        before = Timer(local)
        stored = [before.sent(b"a", 5), before.sent(b"b", 5)]
        await before.take_all()
        before.files.close()  # the checkpoint still says that nothing was taken in
        stored.append(before.sent(b"c", 5))
        after = Timer(local)
        assert (after.files.queue_offset, after.files.waiting) == (0, 2)
        await after.take_all()
        assert [unit.log_offset for unit in after.waiting(5)] == [each.commit_log_offset for each in stored]
        assert after.metrics.count("t") == 1


async def test_it_goes_on_where_the_store_refused(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        for body in (b"a", b"b", b"c"):
            timer.sent(body, 1)
        local.clock.advance(2)
        enqueue = TimerEnqueue(timer.parts)
        local.take_only(1)
        with pytest.raises(Refusal, match="the disk is full"):
            await enqueue.take_slice()
        assert (local.bodies("t", 1), timer.files.queue_offset) == ([b"a"], 1)
        local.take_only(None)
        await enqueue.take_slice()
        assert (local.bodies("t", 1), timer.files.queue_offset) == ([b"a", b"b", b"c"], 3)


@pytest.mark.parametrize(("said", "meant"), [(0, 0), (1, 1), (9, 2), (-4, 0)])
async def test_its_position_lies_within_the_queue(said, meant, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = Timer(local)
        timer.sent(b"a", 1)
        timer.sent(b"b", 1)
        enqueue = TimerEnqueue(timer.parts)
        timer.files.queue_offset = said
        assert enqueue.behind == max(0, 2 - said)
        enqueue.correct()
        assert (timer.files.queue_offset, enqueue.behind) == (meant, 2 - meant)


async def test_messages_that_clean_up_took_away_are_passed(tmp_path):
    async with LocalStore(tmp_path / "store", commit_log_file_bytes=8192) as local:
        timer = Timer(local)
        stored = [timer.sent(b"%d" % number + b"x" * 3000, 5) for number in range(8)]
        for path in sorted((local.store.settings.directory / "commitlog").iterdir())[:2]:
            os.utime(path, (0, 0))
        local.store.clean(any_hour=True)
        low = local.store.queues.min_offset(TIMER_TOPIC, 0)
        assert low == 4
        enqueue = TimerEnqueue(timer.parts)
        await enqueue.take_slice()
        assert (timer.files.queue_offset, timer.slots()) == (low, [])
        while enqueue.behind:
            await enqueue.take_slice()
        kept = [each.commit_log_offset for each in stored[low:]]
        assert [unit.log_offset for unit in timer.waiting(5)] == kept
        assert timer.metrics.count("t") == 4

import asyncio
from contextlib import asynccontextmanager

from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.due_task import FAILURE_MS, LONGEST_WAIT_MS, TimedTask


class Work:
    """Notes when it ran; gives what `answers` say, then `None`."""

    def __init__(self, clock, *answers):
        self.clock = clock
        self.answers = list(answers)
        self.times = []
        self.gate = None

    async def __call__(self):
        self.times.append(round(self.clock.monotonic() * 1000))
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def staged(*answers):
    clock = ManualClock()
    work = Work(clock, *answers)
    alarm = TimedTask(clock, work, "test")
    yield (clock, alarm, work)
    alarm.cancel()


async def test_the_earliest_wish_counts():
    async with staged() as (clock, alarm, work):
        alarm.ring_in(300)
        alarm.ring_in(100)
        alarm.ring_in(200)
        await clock.aadvance(1)
        assert work.times == [100]
        alarm.ring_in(-5)
        await clock.aadvance(0)
        assert work.times == [100, 1000]


async def test_work_says_when_it_wants_to_run_again():
    async with staged(50, 10**9, None) as (clock, alarm, work):
        alarm.ring_in(0)
        await clock.aadvance(20)
        assert work.times == [0, 50, 50 + LONGEST_WAIT_MS]


async def test_work_never_runs_twice_at_once():
    async with staged(10) as (clock, alarm, work):
        work.gate = asyncio.Event()
        alarm.ring_in(0)
        await clock.aadvance(1)
        alarm.ring_in(0)
        await clock.aadvance(1)
        assert work.times == [0]
        work.gate.set()
        await clock.aadvance(1)
        assert work.times == [0, 2010]


async def test_an_error_is_outlived():
    async with staged(ValueError("once")) as (clock, alarm, work):
        alarm.ring_in(0)
        await clock.aadvance(20)
        assert work.times == [0, min(FAILURE_MS, LONGEST_WAIT_MS)]
        assert alarm.failures.total == 1


async def test_nothing_runs_after_the_stop():
    async with staged(5) as (clock, alarm, work):
        work.gate = asyncio.Event()
        alarm.ring_in(0)
        await clock.aadvance(0)
        await alarm.stop()
        alarm.ring_in(0)
        await clock.aadvance(10)
        assert work.times == [0]
        assert clock.timers == 0

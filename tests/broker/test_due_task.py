import asyncio

from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.due_task import FAILURE_MS, LONGEST_WAIT_MS, DueTask


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


def play(scenario, *answers):
    async def whole():
        clock = ManualClock()
        work = Work(clock, *answers)
        alarm = DueTask(clock, work, "test")
        await scenario(clock, alarm, work)
        alarm.cancel()

    asyncio.run(whole())


def test_the_earliest_wish_counts():
    async def scenario(clock, alarm, work):
        alarm.ring_in(300)
        alarm.ring_in(100)
        alarm.ring_in(200)
        await clock.aadvance(1)
        assert work.times == [100]
        alarm.ring_in(-5)
        await clock.aadvance(0)
        assert work.times == [100, 1000]

    play(scenario)


def test_work_says_when_it_wants_to_run_again():
    async def scenario(clock, alarm, work):
        alarm.ring_in(0)
        await clock.aadvance(20)
        assert work.times == [0, 50, 50 + LONGEST_WAIT_MS]

    play(scenario, 50, 10**9, None)


def test_work_never_runs_twice_at_once():
    async def scenario(clock, alarm, work):
        work.gate = asyncio.Event()
        alarm.ring_in(0)
        await clock.aadvance(1)
        alarm.ring_in(0)
        await clock.aadvance(1)
        assert work.times == [0]
        work.gate.set()
        await clock.aadvance(1)
        assert work.times == [0, 2010]

    play(scenario, 10)


def test_an_error_is_outlived():
    async def scenario(clock, alarm, work):
        alarm.ring_in(0)
        await clock.aadvance(20)
        assert work.times == [0, min(FAILURE_MS, LONGEST_WAIT_MS)]
        assert alarm.failures.total == 1

    play(scenario, ValueError("once"))


def test_nothing_runs_after_the_stop():
    async def scenario(clock, alarm, work):
        work.gate = asyncio.Event()
        alarm.ring_in(0)
        await clock.aadvance(0)
        await alarm.stop()
        alarm.ring_in(0)
        await clock.aadvance(10)
        assert work.times == [0]
        assert clock.timers == 0

    play(scenario, 5)

from mqframe.net.busy_poll import CREDIT_MAX, TRY_EVERY, BusyPoll


class Loop:
    """As much of a loop as is needed: time moved by hand, calls made by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = []

    def monotonic(self) -> float:
        return self.now

    def call_soon(self, call) -> None:
        self.calls.append(call)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        calls, self.calls = self.calls, []
        for call in calls:
            call()


def test_a_lone_request_keeps_the_loop_awake_for_a_moment() -> None:
    loop = Loop()
    poll = BusyPoll(loop, 0.001, loop.monotonic)
    poll.turn(1)
    assert poll.polling
    loop.pass_time(0.0005)
    assert poll.polling
    assert len(loop.calls) == 1
    loop.pass_time(0.0006)
    assert not poll.polling
    assert loop.calls == []


def test_each_request_that_comes_meanwhile_prolongs_it() -> None:
    loop = Loop()
    poll = BusyPoll(loop, 0.001, loop.monotonic)
    poll.turn(1)
    for _ in range(20):
        loop.pass_time(0.0009)
        poll.turn(1)
    assert poll.polling
    assert poll.credit == CREDIT_MAX


def test_many_requests_at_once_end_it() -> None:
    loop = Loop()
    poll = BusyPoll(loop, 0.001, loop.monotonic)
    poll.turn(16)
    assert not poll.polling
    poll.turn(1)
    poll.turn(16)
    loop.pass_time(0)
    assert not poll.polling
    assert poll.credit == 2


def test_where_nothing_follows_looks_become_rare() -> None:
    loop = Loop()
    poll = BusyPoll(loop, 0.001, loop.monotonic)
    looks = 0
    for _ in range(1 + 10 * TRY_EVERY):
        poll.turn(1)
        looks += poll.polling
        loop.pass_time(1.0)
    assert poll.credit == 0
    assert looks == 11

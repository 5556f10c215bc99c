"""One call of a listener, with its hooks."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.push.consume_call import ConsumeCall, ListenerCaller
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.core.consuming.consume_result import ConsumeOutcome, ConsumeResult
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import ConsumeHook

QUEUE = MessageQueue("orders", "broker-a", 0)


class Watch(ConsumeHook):
    def __init__(self) -> None:
        self.seen: list[tuple] = []

    def before(self, context):
        self.seen.append(("before", context.group, context.client_id, len(context.messages)))

    def after(self, context):
        self.seen.append(("after", context.success, context.outcome, context.elapsed_seconds, context.error))


def call_of(function, since: float = 0.0) -> ConsumeCall:
    return ConsumeCall(
        ProcessQueue(QUEUE, 0.0), [received(0)], subscription("orders", "*", function, 1, 1), since
    )


def run(function, *, hooks=(), timeout=10.0, clock=None):
    """The call of `function`, plain or async."""
    clock = clock or ManualClock()
    watched = ListenerHooks(hooks=hooks, group="g", client_id="me")
    caller = ListenerCaller("g", watched, clock.monotonic, timeout)
    call = call_of(function, clock.monotonic())
    if call.subscription.is_async:
        asyncio.run(caller.call_async(call))
    else:
        caller.call(call)
    return caller, call


def plain(outcome):
    def listen(messages, context):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return listen


def waiting(outcome):
    async def listen(messages, context):
        return plain(outcome)(messages, context)

    return listen


@pytest.mark.parametrize("kind", [plain, waiting])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ConsumeResult.SUCCESS, ConsumeOutcome.SUCCESS),
        (ConsumeResult.RECONSUME_LATER, ConsumeOutcome.FAILED),
        (None, ConsumeOutcome.NULL),
        (ValueError("no stock"), ConsumeOutcome.EXCEPTION),
    ],
)
def test_what_came_of_it_is_noted_and_hooks_hear_of_it(kind, answer, outcome) -> None:
    watch = Watch()
    caller, call = run(kind(answer), hooks=[watch])
    assert caller.outcome(call) is outcome
    error = answer if isinstance(answer, Exception) else None
    assert (call.error, call.started) == (error, True)
    assert watch.seen == [
        ("before", "g", "me", 1),
        ("after", outcome is ConsumeOutcome.SUCCESS, outcome.value, 0.0, error),
    ]


def test_time_in_the_listener_and_the_whole_wait_are_counted_apart() -> None:
    clock = ManualClock()

    def slow(messages, context):
        clock.advance(4.0)
        return ConsumeResult.SUCCESS

    caller, call = run(slow, timeout=4.0, clock=clock)
    assert call.elapsed == 4.0
    assert caller.outcome(call) is ConsumeOutcome.TIMEOUT


@pytest.mark.parametrize("why", ["over", "dropped"])
async def test_nobody_is_called_for_what_does_not_count_any_more(why) -> None:
    watch = Watch()
    caller = ListenerCaller("g", ListenerHooks(hooks=[watch]), ManualClock().monotonic, 10.0)
    for function in (plain(ValueError("called")), waiting(ValueError("called"))):
        call = call_of(function)
        if why == "over":
            call.over = True
        else:
            call.held.dropped = True
        if call.subscription.is_async:
            await caller.call_async(call)
        else:
            caller.call(call)
        assert (call.started, call.error, watch.seen) == (False, None, [])


async def test_a_cancellation_from_outside_goes_on_and_one_of_the_listeners_own_is_noted() -> None:
    caller = ListenerCaller("g", ListenerHooks(), ManualClock().monotonic, 10.0)

    async def forever(messages, context):
        await asyncio.get_running_loop().create_future()

    task = asyncio.ensure_future(caller.call_async(call_of(forever)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    call = call_of(waiting(asyncio.CancelledError()))
    await caller.call_async(call)
    assert isinstance(call.error, asyncio.CancelledError)

"""One call of a listener, with its hooks."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.push.consume_call import BUNDLE_SECONDS, Bundle, ConsumeCall, ListenerCaller
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL, ConsumeOutcome, ConsumeResult
from mqframe.core.consuming.ordered_turn import OrderedTurn
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.queue_locks import LockLease
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


SECOND = received(1, REPLY_TO_CLIENT="me")
"""A request."""


class Handled:
    """Offsets that a listener got, one by one; `answers`: what it does at some, by offset."""

    def __init__(self, answers=None, each=lambda offset: None) -> None:
        self.offsets: list[int] = []
        self.answers = answers or {}
        self.each = each

    def __call__(self, messages, context):
        (message,) = messages
        self.offsets.append(message.queue_offset)
        self.each(message.queue_offset)
        answer = self.answers.get(message.queue_offset, ConsumeResult.SUCCESS)
        if isinstance(answer, BaseException):
            raise answer
        return answer(context) if callable(answer) else answer


def carried_out(function, messages=None, clock=None, before=lambda bundle: None, limits=()) -> Bundle:
    """A bundle of five messages, or these, once its worker is done with it; in order by `limits`."""
    clock = clock or ManualClock()
    bundle = Bundle(
        ProcessQueue(QUEUE, 0.0),
        [received(n) for n in range(5)] if messages is None else messages,
        subscription("orders", "*", function, 1, 1),
        clock.monotonic(),
    )
    before(bundle)
    ListenerCaller("g", ListenerHooks(), clock.monotonic, 10.0).call_each(bundle, *limits)
    return bundle


def offsets(messages) -> list[int]:
    return [message.queue_offset for message in messages]


class TestBundle:
    def test_all_go_well(self) -> None:
        clock = ManualClock()
        handled = Handled(each=lambda offset: clock.advance(0.0001 * (offset + 1)))
        bundle = carried_out(handled, clock=clock)
        assert handled.offsets == offsets(bundle.messages) == [0, 1, 2, 3, 4]
        assert (bundle.result, bundle.odd, bundle.take_back()) == (ConsumeResult.SUCCESS, None, [])
        assert bundle.spent == pytest.approx(0.0015)
        assert bundle.elapsed == pytest.approx(0.0003), "each, on average"

    @pytest.mark.parametrize(
        "answer", [ConsumeResult.RECONSUME_LATER, None, ValueError("no"), KeyboardInterrupt()]
    )
    def test_one_that_does_not_has_a_call_of_its_own_and_nothing_is_done_behind_it(self, answer) -> None:
        clock = ManualClock()
        handled = Handled({2: answer}, each=lambda offset: clock.advance(0.001))
        bundle = carried_out(handled, clock=clock)
        assert handled.offsets == [0, 1, 2]
        assert offsets(bundle.messages) == [0, 1]
        assert offsets(bundle.odd.messages) == [2]
        is_error = isinstance(answer, BaseException)
        assert (bundle.odd.result, bundle.odd.error) == ((None, answer) if is_error else (answer, None))
        assert bundle.odd.elapsed == pytest.approx(0.001)
        assert bundle.odd.started
        assert bundle.odd.context.queue == QUEUE
        assert offsets(bundle.take_back()) == [3, 4]

    def test_who_acknowledges_nothing_has_failed(self) -> None:
        def refuse(context):
            context.ack_index = -1
            return ConsumeResult.SUCCESS

        bundle = carried_out(Handled({0: refuse}))
        assert (offsets(bundle.messages), offsets(bundle.odd.messages)) == ([], [0])
        assert bundle.odd.context.ack_index == -1

    def test_requests_are_left_and_what_is_behind_them(self) -> None:
        handled = Handled()
        bundle = carried_out(handled, [received(0), SECOND, received(2)])
        assert handled.offsets == [0]
        assert offsets(bundle.take_back()) == [1, 2]

    @pytest.mark.parametrize("what", ["turn", "lease", "subscription", "long", "nothing"])
    def test_in_order_one_behind_which_it_must_not_go_on_is_the_last(self, what) -> None:
        clock, lease, made, asked = ManualClock(), LockLease(), [], []
        lease.granted(clock.monotonic())
        turn = OrderedTurn(lease)
        messages = [received(n) for n in range(5)]
        turn.offer(messages, clock.monotonic() - (59.9985 if what == "long" else 0.0))
        turn.begin(5, clock.monotonic())

        def end(offset: int) -> None:
            clock.advance(0.001)
            if offset == 1 and what == "turn":
                assert not turn.close()
            elif offset == 1 and what == "lease":
                lease.doubted()

        def newest(topic):
            asked.append(topic)
            return made[0].subscription if what != "subscription" or len(asked) < 2 else None

        handled = Handled(each=end)
        bundle = carried_out(handled, messages, clock, made.append, (turn, newest))
        done = [0, 1, 2, 3, 4] if what == "nothing" else [0, 1]
        assert handled.offsets == offsets(bundle.messages) == done
        assert (offsets(bundle.take_back()), bundle.odd) == ([2, 3, 4] if what != "nothing" else [], None)
        assert set(asked) == {"orders"}

    def test_a_handler_of_messages_alone_gets_them_as_they_are(self) -> None:
        messages, got = [received(n) for n in range(5)], []
        bundle = carried_out(got.append, messages)
        assert all(one is other for one, other in zip(got, messages, strict=True))
        assert offsets(bundle.messages) == [0, 1, 2, 3, 4]
        assert (bundle.result, bundle.odd) == (ConsumeResult.SUCCESS, None)

    @pytest.mark.parametrize(
        "answer", [ConsumeResult.RECONSUME_LATER, 5, ValueError("no"), KeyboardInterrupt()]
    )
    def test_what_such_a_handler_does_not_manage_has_a_call_of_its_own(self, answer) -> None:
        def handle(message):
            if message.queue_offset == 2 and isinstance(answer, BaseException):
                raise answer
            return (
                answer
                if message.queue_offset == 2
                else (None, ConsumeResult.SUCCESS)[message.queue_offset % 2]
            )

        bundle = carried_out(handle)
        assert (offsets(bundle.messages), offsets(bundle.odd.messages)) == ([0, 1], [2])
        is_error = isinstance(answer, BaseException)
        assert (bundle.odd.result, bundle.odd.error) == ((None, answer) if is_error else (answer, None))
        assert (bundle.odd.context.queue, bundle.odd.context.ack_index) == (QUEUE, ACKNOWLEDGE_ALL)
        assert offsets(bundle.take_back()) == [3, 4]

    def test_one_that_is_slow_is_the_last(self) -> None:
        clock = ManualClock()
        handled = Handled(each=lambda offset: clock.advance(BUNDLE_SECONDS * offset))
        bundle = carried_out(handled, clock=clock)
        assert handled.offsets == offsets(bundle.messages) == [0, 1]
        assert bundle.elapsed == pytest.approx(BUNDLE_SECONDS / 2)

    @pytest.mark.parametrize("how", ["over", "dropped", "taken back"])
    def test_who_is_not_needed_any_more_ends(self, how) -> None:
        made = []

        def end(offset: int) -> None:
            if offset == 1 and how == "over":
                made[0].over = True
            elif offset == 1 and how == "dropped":
                made[0].held.dropped = True
            elif offset == 1:
                assert offsets(made[0].undone()) == [1, 2, 3, 4]

        handled = Handled(each=end)
        carried_out(handled, before=made.append)
        assert handled.offsets == offsets(made[0].messages) == [0, 1]
        assert offsets(made[0].undone()) == ([] if how == "taken back" else [2, 3, 4])

    def test_what_is_undone(self) -> None:
        wanted = subscription("orders", "*", plain(None), 1, 1)
        bundle = Bundle(ProcessQueue(QUEUE, 0.0), [received(0), received(1)], wanted, 0.0)
        assert offsets(bundle.undone()) == [0, 1], "nothing was begun"
        assert bundle.undone() == []
        assert carried_out(Handled()).undone() == [], "all was done"
        assert offsets(carried_out(Handled({3: None})).undone()) == [3, 4]

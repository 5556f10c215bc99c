"""Hooks around a listener, in the thread or task that calls it."""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import contextmanager, suppress

import pytest
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.push.consume_call import ConsumeCall, ListenerCaller
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.watched_call import ListenerHooks
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import ConsumeHook

QUEUE = MessageQueue("orders", "broker-a", 0)
WHERE: contextvars.ContextVar[str] = contextvars.ContextVar("where", default="outside")


class Wrapping(ConsumeHook):
    """Notes the order of all calls, and what it finds in the context."""

    def __init__(self, name: str, notes: list) -> None:
        self.name = name
        self.notes = notes

    def before(self, context):
        self.notes.append(f"before {self.name}")

    @contextmanager
    def around(self, context):
        token = WHERE.set(f"{WHERE.get()} {self.name}")
        self.notes.append(f"enter {self.name}")
        try:
            yield
        except BaseException as error:
            self.notes.append(f"raised {self.name} {error!r}")
            raise
        finally:
            WHERE.reset(token)
            self.notes.append(f"leave {self.name} {context.outcome} {context.success} {context.error!r}")

    def after(self, context):
        self.notes.append(f"after {self.name} {context.outcome}")


class Watching(ConsumeHook):
    def __init__(self, notes: list) -> None:
        self.notes = notes

    def after(self, context):
        self.notes.append(f"watched {WHERE.get()}")


def call_with(hooks, listener) -> ConsumeCall:
    """The call of `listener`, plain or async, with `hooks`."""
    watched = ListenerHooks(hooks=hooks, group="g", client_id="me", ordered=True)
    caller = ListenerCaller("g", watched, ManualClock().monotonic, 10.0)
    call = ConsumeCall(
        ProcessQueue(QUEUE, 0.0), [received(0)], subscription("orders", "*", listener, 1, 1), 0.0
    )
    if call.subscription.is_async:
        asyncio.run(caller.call_async(call))
    else:
        caller.call(call)
    return call


def listeners(answer, notes):
    def plain(messages, context):
        notes.append(f"listener {WHERE.get()}")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def waiting(messages, context):
        await asyncio.sleep(0)
        return plain(messages, context)

    return [plain, waiting]


@pytest.mark.parametrize("kind", [0, 1])
def test_the_order_of_things(kind: int) -> None:
    notes: list = []
    hooks = [Wrapping("a", notes), Watching(notes), Wrapping("b", notes)]
    call = call_with(hooks, listeners(ConsumeResult.SUCCESS, notes)[kind])
    assert call.result is ConsumeResult.SUCCESS
    assert notes == [
        "before a", "before b", "enter a", "enter b",
        "listener outside a b",
        "leave b success True None", "leave a success True None",
        "after b success", "watched outside", "after a success",
    ]  # fmt: skip
    assert WHERE.get() == "outside"


@pytest.mark.parametrize("kind", [0, 1])
def test_an_error_of_the_listener_is_shown_and_stays_what_it_is(kind: int) -> None:
    notes: list = []
    problem = ValueError("no")
    call = call_with([Wrapping("a", notes)], listeners(problem, notes)[kind])
    assert call.error is problem
    assert problem.__cause__ is problem.__context__ is None
    assert notes == [
        "before a",
        "enter a",
        "listener outside a",
        "raised a ValueError('no')",
        "leave a exception False ValueError('no')",
        "after a exception",
    ]


@pytest.mark.parametrize("kind", [0, 1])
def test_a_hook_can_neither_swallow_nor_replace_it(kind: int, caplog) -> None:
    class Swallowing(ConsumeHook):
        name = "swallowing"

        @contextmanager
        def around(self, context):
            with suppress(ValueError):
                yield

    class Replacing(ConsumeHook):
        name = "replacing"

        @contextmanager
        def around(self, context):
            try:
                yield
            except ValueError:
                raise RuntimeError("mine") from None

    problem = ValueError("no")
    call = call_with([Swallowing(), Replacing()], listeners(problem, [])[kind])
    assert call.error is problem
    assert "plugin='replacing'" in caplog.text
    assert "plugin='swallowing'" not in caplog.text


@pytest.mark.parametrize("kind", [0, 1])
def test_a_hook_that_cannot_be_entered_does_not_keep_the_listener_from_its_messages(kind, caplog) -> None:
    class Broken(ConsumeHook):
        name = "broken"

        def around(self, context):
            raise RuntimeError("oops")

    notes: list = []
    call = call_with([Broken(), Wrapping("a", notes)], listeners(ConsumeResult.SUCCESS, notes)[kind])
    assert call.result is ConsumeResult.SUCCESS
    assert "listener outside a" in notes
    assert "plugin='broken'" in caplog.text


async def test_a_listener_that_is_cancelled_is_left_by_its_hooks() -> None:
    notes: list = []

    async def forever(messages, context):
        await asyncio.get_running_loop().create_future()

    caller = ListenerCaller("g", ListenerHooks(hooks=[Wrapping("a", notes)]), ManualClock().monotonic, 10.0)
    call = ConsumeCall(
        ProcessQueue(QUEUE, 0.0), [received(0)], subscription("orders", "*", forever, 1, 1), 0.0
    )
    task = asyncio.ensure_future(caller.call_async(call))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert notes == [
        "before a", "enter a", "raised a CancelledError()", "leave a  False CancelledError()"
    ]  # fmt: skip


def test_what_ends_the_program_is_no_answer_and_leaves_the_hooks() -> None:
    notes: list = []
    caller = ListenerCaller("g", ListenerHooks(hooks=[Wrapping("a", notes)]), ManualClock().monotonic, 10.0)

    async def leave(messages, context):
        raise SystemExit(3)

    call = ConsumeCall(ProcessQueue(QUEUE, 0.0), [received(0)], subscription("orders", "*", leave, 1, 1), 0.0)
    with pytest.raises(SystemExit):
        caller.call_async(call).send(None)
    assert notes == ["before a", "enter a", "raised a SystemExit(3)", "leave a  False SystemExit(3)"]


def test_what_hooks_are_told_of_the_consumer() -> None:
    hooks = ListenerHooks(hooks=[Watching([])], group="g", client_id="me", broadcasting=True)
    assert hooks
    context = hooks.begin([received(0)], QUEUE).context
    assert (context.group, context.client_id, context.queue) == ("g", "me", QUEUE)
    assert (context.broadcasting, context.ordered, context.outcome) == (True, False, "")
    assert not ListenerHooks()

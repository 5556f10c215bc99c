"""Batches, message by message, and stores that fail; on a store whose answers the test chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from mqframe_idempotence import Claim, InProgress, NoKey, Once, OnceInTransaction, StoreAway, TableMissing
from mqframe_idempotence.counts import Counted
from mqframe_testing.consuming import received
from stores_to_try import message

from mqframe import ConsumeResult, ListenerContext, MessageQueue

ALL = 2**31 - 1
LATER, SUSPEND = ConsumeResult.RECONSUME_LATER, ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT


class Scripted:
    """A store that knows `done`, finds `busy`, and fails with `claim_error` and `finish_error`."""

    is_async = None
    session = "the session"

    def __init__(self, done: str = "", busy: str = "", in_transaction: bool = False) -> None:
        self.done, self.busy, self.in_transaction = set(done), set(busy), in_transaction
        self.log: list[Any] = []
        self.claim_error: Exception | None = None
        self.finish_error: Exception | None = None
        self.lost = 0

    def open(self, scope: str) -> Scripted:
        return self

    def claim(self, keys: Sequence[str]) -> dict[str, Claim]:
        self.log.append(("claim", "".join(keys)))
        if self.claim_error:
            raise self.claim_error
        return {
            key: Claim.DONE if key in self.done else Claim.BUSY if key in self.busy else Claim.NEW
            for key in keys
        }

    def finish(self, keys: Sequence[str]) -> int:
        self.log.append(("finish", "".join(keys)))
        if self.finish_error:
            raise self.finish_error
        return self.lost

    def give_up(self) -> None:
        self.log.append("give up")

    def close(self) -> None:
        self.log.append("close")


def batch(
    store: Scripted,
    keys: str,
    answer: Any = ConsumeResult.SUCCESS,
    ordered: bool | None = None,
    **options: Any,
) -> tuple[Any, str, ListenerContext, Once]:
    """The result, the keys that the listener got, the context afterwards, and the wrapper."""
    seen: list[str] = []

    def listener(messages: Any, context: ListenerContext) -> Any:
        seen.extend(m.message_id for m in messages)
        if isinstance(answer, int):
            context.ack_index = answer
            return ConsumeResult.SUCCESS
        if isinstance(answer, Exception):
            raise answer
        return answer

    once = Once(store, "s", **options)
    context = ListenerContext(MessageQueue("orders", "broker-a", 0), "g")
    wrapped = once.listener(listener, ordered=ordered)
    return wrapped([message(key, n) for n, key in enumerate(keys)], context), "".join(seen), context, once


def test_a_batch_is_claimed_and_finished_in_one_go_each() -> None:
    store = Scripted(done="b")
    result, seen, context, once = batch(store, "abc")
    assert (result, seen, context.ack_index) == (ConsumeResult.SUCCESS, "ac", ALL)
    assert store.log == [("claim", "abc"), ("finish", "ac"), "close"]
    assert once.counts.snapshot() == Counted(effects=2, duplicates=1)


def test_a_batch_of_duplicates_is_a_success_without_a_call() -> None:
    store = Scripted(done="ab")
    result, seen, _, _ = batch(store, "ab")
    assert (result, seen) == (ConsumeResult.SUCCESS, "")
    assert store.log == [("claim", "ab"), "give up", "close"]


def test_one_key_twice_in_a_batch_is_called_once() -> None:
    store = Scripted()
    result, seen, context, _ = batch(store, "aab")
    assert (result, seen, context.ack_index) == (ConsumeResult.SUCCESS, "ab", ALL)
    assert store.log[0] == ("claim", "ab")


@pytest.mark.parametrize(
    ("keys", "done", "answer", "ack_index", "finished"),
    [
        ("abcd", "", 1, 1, "ab"),
        ("abcd", "a", 0, 1, "b"),  # b alone was acknowledged of b, c, d
        ("abcd", "c", 1, 2, "ab"),  # c is done as well
        ("abab", "", 0, 0, "a"),
        ("ab", "", -1, -1, None),
    ],
)
def test_the_listener_s_ack_index_counts_within_what_it_got(
    keys: str, done: str, answer: int, ack_index: int, finished: str | None
) -> None:
    store = Scripted(done=done)
    result, _, context, _ = batch(store, keys, answer)
    assert (result, context.ack_index) == (ConsumeResult.SUCCESS, ack_index)
    assert store.log[1:] == ([("finish", finished), "close"] if finished else ["give up", "close"])


@pytest.mark.parametrize("answer", [LATER, SUSPEND, None, "yes"])
def test_a_failed_batch_is_given_up_and_its_result_goes_on(answer: Any) -> None:
    store = Scripted()
    result, seen, _, once = batch(store, "ab", answer)
    assert (result, seen) == (answer, "ab")
    assert store.log[1:] == ["give up", "close"]
    assert once.counts.snapshot() == Counted(failed=2)


def test_a_listener_that_raises_gives_all_up() -> None:
    store = Scripted()
    with pytest.raises(ValueError, match="no"):
        batch(store, "ab", ValueError("no"))
    assert store.log[1:] == ["give up", "close"]


def test_a_message_in_progress_has_the_whole_batch_come_again_unless_the_kind_is_known() -> None:
    store = Scripted(busy="b")
    result, seen, context, _ = batch(store, "abc", busy_delay_level=3)
    assert (result, seen, context.delay_level_when_next_consume) == (LATER, "ac", 3)
    assert store.log[1:] == [("finish", "ac"), "close"]


def test_concurrent_listeners_acknowledge_what_precedes_it() -> None:
    result, seen, context, once = batch(Scripted(busy="b"), "abc", ordered=False, busy_delay_level=3)
    assert (result, seen, context.ack_index) == (ConsumeResult.SUCCESS, "ac", 0)
    assert context.delay_level_when_next_consume == 3
    assert once.counts.snapshot() == Counted(effects=2, in_progress=1)


def test_in_order_nothing_overtakes_it() -> None:
    store = Scripted(busy="b")
    result, seen, context, _ = batch(store, "abc", ordered=True)
    assert (result, seen, context.ack_index) == (SUSPEND, "a", ALL)
    assert store.log == [("claim", "abc"), ("finish", "a"), "close"]


def test_in_order_a_first_message_in_progress_suspends_without_a_call() -> None:
    store = Scripted(busy="a")
    result, seen, _, _ = batch(store, "ab", ordered=True)
    assert (result, seen) == (SUSPEND, "")
    assert store.log[1:] == ["give up", "close"]


def test_in_order_the_queue_may_be_a_batch_of_one() -> None:
    result, _, _, _ = batch(Scripted(busy="a"), "a", ordered=True)
    assert result is SUSPEND
    result, _, _, _ = batch(Scripted(busy="a"), "a")
    assert result is LATER


def test_a_message_without_a_key_does_not_harm_the_others() -> None:
    store = Scripted()
    key = {"a": "a", "b": "", "c": "c"}
    result, seen, context, once = batch(store, "abc", ordered=False, key=lambda m: key[m.message_id])
    assert (result, seen, context.ack_index) == (ConsumeResult.SUCCESS, "ac", 0)
    assert once.counts.snapshot() == Counted(effects=2, failed=1)
    with pytest.raises(NoKey):
        batch(store, "b", key=lambda m: "")


def test_messages_without_a_key_may_be_processed() -> None:
    store = Scripted()
    result, seen, _, once = batch(store, "aab", key="keys", missing="process")
    assert (result, seen) == (ConsumeResult.SUCCESS, "aab")
    assert store.log == []
    assert once.counts.snapshot() == Counted(effects=3, without_key=3)


def test_a_handler_meets_the_same() -> None:
    store = Scripted(done="d", busy="b")
    once = Once(store, "s", busy_delay_level=4)
    handle = once.handler(lambda m: m.message_id)
    assert handle(message("a")) == "a"
    assert handle(message("d")) is None
    with pytest.raises(InProgress, match="key 'b' of s is being worked on") as caught:
        handle(message("b"))
    assert caught.value.delay_level == 4
    assert once.counts.snapshot() == Counted(effects=1, duplicates=1, in_progress=1)


def test_a_handler_may_answer_like_a_listener() -> None:
    store = Scripted()
    assert Once(store, "s").handler(lambda m: LATER)(message("a")) is LATER
    assert store.log[1:] == ["give up", "close"]


def test_no_store_no_call() -> None:
    store = Scripted()
    store.claim_error = StoreAway("gone")
    calls: list[Any] = []
    once = Once(store, "s")
    with pytest.raises(StoreAway, match="gone"):
        once.handler(calls.append)(message("a"))
    assert calls == []
    assert store.log == [("claim", "a"), "give up", "close"]
    assert once.counts.snapshot() == Counted(store_failures=1)


def test_no_store_and_a_call_where_that_is_wanted() -> None:
    store = Scripted()
    store.claim_error = StoreAway("gone")
    result, seen, _, once = batch(store, "ab", when_away="process")
    assert (result, seen) == (ConsumeResult.SUCCESS, "ab")
    assert once.counts.snapshot() == Counted(effects=2, store_failures=1, without_store=2)


def test_what_has_to_be_mended_is_raised_even_then() -> None:
    store = Scripted()
    store.claim_error = TableMissing("no table")
    with pytest.raises(TableMissing):
        batch(store, "ab", when_away="process")


def test_an_effect_that_cannot_be_noted_is_not_done_again_at_once() -> None:
    store = Scripted()
    store.finish_error = StoreAway("gone")
    result, _, _, once = batch(store, "ab")
    assert result is ConsumeResult.SUCCESS
    assert once.counts.snapshot() == Counted(effects=2, store_failures=1)


def test_in_a_transaction_it_is_taken_back_and_comes_again() -> None:
    store = Scripted(in_transaction=True)
    store.finish_error = StoreAway("gone")
    once = OnceInTransaction[str](store, "s")
    seen: list[str] = []
    with pytest.raises(StoreAway):
        once.handler(lambda message, session: seen.append(session))(message("a"))
    assert seen == ["the session"]
    assert store.log == [("claim", "a"), ("finish", "a"), "give up", "close"]
    assert once.counts.snapshot() == Counted(store_failures=1)


def test_in_a_transaction_messages_without_keys_have_one_too() -> None:
    store = Scripted(in_transaction=True)
    once = OnceInTransaction[str](store, "s", key="keys", missing="process")
    assert once.handler(lambda m, session: session)(received(0)) == "the session"
    assert store.log == [("claim", ""), ("finish", ""), "close"]


def test_lost_leases_are_counted() -> None:
    store = Scripted()
    store.lost = 1
    assert batch(store, "ab")[3].counts.snapshot() == Counted(effects=2, lost=1)

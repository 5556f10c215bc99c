"""Where the fate of a message is decided."""

from __future__ import annotations

import asyncio

from mqframe_faststream.message import DEAD_LEVEL, Delivery, MqframeMessage

from mqframe import ConsumeResult


def message(delivery=None):
    made = MqframeMessage(raw_message=(), body=b"")
    made.settlement = delivery
    return made


def decided(act):
    async def story():
        delivery = Delivery()
        await act(message(delivery))
        return delivery.verdict, delivery.delay_level

    return asyncio.run(story())


def test_each_answer_has_its_verdict() -> None:
    assert decided(lambda m: m.ack()) == (ConsumeResult.SUCCESS, 0)
    assert decided(lambda m: m.nack()) == (ConsumeResult.RECONSUME_LATER, 0)
    assert decided(lambda m: m.nack(delay_level=3)) == (ConsumeResult.RECONSUME_LATER, 3)
    assert decided(lambda m: m.reject()) == (ConsumeResult.RECONSUME_LATER, DEAD_LEVEL)


def test_the_first_answer_counts() -> None:
    async def both(m):
        await m.reject()
        await m.ack()

    assert decided(both) == (ConsumeResult.RECONSUME_LATER, DEAD_LEVEL)


async def test_who_waits_hears_of_a_decision_or_that_there_will_be_none() -> None:
    settled, given_up = Delivery(), Delivery()
    waiting = [asyncio.ensure_future(each.decided()) for each in (settled, given_up)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in waiting)
    await settled.ack()
    given_up.give_up()
    await asyncio.gather(*waiting)
    await settled.decided()
    assert (settled.verdict, given_up.verdict) == (ConsumeResult.SUCCESS, None)


async def test_without_anybody_who_asks_answers_are_remembered_only() -> None:
    made = message()
    await made.nack()
    assert made.committed is not None


async def test_what_is_rejected_and_not_answered_is_refused() -> None:
    delivery = Delivery()
    await delivery.nack(3)
    assert not delivery.is_refused
    await delivery.reject()
    assert delivery.is_refused
    delivery.answered = True
    assert not delivery.is_refused

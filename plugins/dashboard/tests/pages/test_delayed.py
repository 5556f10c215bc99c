"""Delayed messages: what waits, and what of a timer's queue still does."""

from __future__ import annotations

from datetime import timedelta
from pkgutil import resolve_name

import pytest
from mqframe_dashboard.pages import delayed
from mqframe_dashboard.pages.delayed import SHOWN, still_waiting
from mqframe_testing import Cluster

from mqframe import Message, Producer
from mqframe.core.errors import AnswerError, ConnectError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests.admin import GetAllDelayOffset, GetTimerMetrics

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def delay(mqframe_cluster: Cluster):
    """Sends one message to `orders` that waits."""
    mqframe_cluster.create_topic("orders", 1)
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        yield lambda *fields, **when: producer.send(Message("orders", b"x", *fields), **when)


def stored(at: int, **properties: str) -> ReceivedMessage:
    text = encode_properties(properties).encode()
    hosts = b"\x7f\0\0\1\0\0\0\1"
    return ReceivedMessage("t", 0, at, at, 1, 0, 0, hosts, hosts, 0, 0, 0, 0, 0, b"x", text)


def test_nothing_waits(browser):
    page = browser.page("/delayed")
    assert "no message waits" in page
    assert "nothing waits at a delay level" in page
    assert "nothing waits for a given time" in page


def test_what_waits_is_counted_and_listed_by_when_it_is_due(browser, delay):
    ids = [
        delay("later", delay=timedelta(hours=30)).message_id,
        delay("level", delay_level=18).message_id,
        delay("level", delay_level=16).message_id,
        delay("sooner", ["k1"], delay=600).message_id,
    ]
    page = browser.page("/delayed")
    while page.count('href="message?') < 4:  # the timer takes in what it was sent after a moment
        page = browser.page("/delayed")
    places = [page.index(f">{each}</a>") for each in ids]
    assert sorted(places) == [places[3], places[2], places[1], places[0]]
    assert "Showing 4 of 4 messages that wait." in page
    assert "level 16 (30 min)" in page
    assert "looked at 2 of 2 stored" in page


def test_a_waiting_message_can_be_looked_at(browser, delay):
    sent = delay("level", delay_level=18)
    page = browser.page("/message", topic="SCHEDULE_TOPIC_XXXX", id=sent.message_id)
    assert '<th scope="row">REAL_TOPIC</th><td>orders</td>' in page


def test_more_than_is_shown_is_said(browser, delay):
    for _ in range(9):
        delay(delay_level=18)
    page = browser.page("/delayed")
    assert "Showing 8 of 9 messages that wait." in page
    assert SHOWN > 8


def test_more_than_is_looked_at_is_said(browser, delay, monkeypatch):
    monkeypatch.setattr(delayed, "TIMERS_LOOKED_AT", 2)
    for _ in range(3):
        delay(delay=600)
    page = browser.page("/delayed")
    while '<td class="number">3</td>' not in page:
        page = browser.page("/delayed")
    assert "Showing 2 of 3 messages that wait." in page
    assert "Of those for a given time 2 of 3 were looked at" in page


def test_nothing_of_a_message_is_taken_for_html(browser, delay):
    delay(EVIL, [EVIL], delay_level=18)
    page = browser.page("/delayed")
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 2


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (AnswerError(3, "served from Apache RocketMQ 5.0.0 on", "a:1"), "broker-a has delay levels alone"),
        (ConnectError("gone <b>"), "broker-a does not tell what waits for a given time: gone &lt;b&gt;"),
    ],
)
def test_a_broker_that_does_not_tell_its_timers_is_named(browser, delay, monkeypatch, problem, said):
    delay(delay_level=18)
    refuse(monkeypatch, GetTimerMetrics, problem)
    page = browser.page("/delayed")
    assert said in page
    assert "level 18 (2 h)" in page


def test_a_broker_that_does_not_tell_its_levels_is_named(browser, monkeypatch):
    refuse(monkeypatch, GetAllDelayOffset, ConnectError("gone <b>"))
    page = browser.page("/delayed")
    assert "broker-a does not tell what waits at its delay levels: gone &lt;b&gt;" in page


def refuse(monkeypatch, request_kind, problem):
    name = "mqframe_admin.client.brokers.AsyncBrokerAdmin.call"
    ask = resolve_name(name)

    async def call(self, broker, request, body=b""):
        if isinstance(request, request_kind):
            raise problem
        return await ask(self, broker, request, body)

    monkeypatch.setattr(name, call)


def test_what_was_delivered_or_taken_back_does_not_wait():
    past = stored(0, TIMER_OUT_MS="100", UNIQ_KEY="A", REAL_TOPIC="t")
    coming = stored(1, TIMER_OUT_MS="5000", UNIQ_KEY="B", REAL_TOPIC="t")
    taken_back = stored(2, TIMER_OUT_MS="5000", UNIQ_KEY="C", REAL_TOPIC="t")
    recall = stored(3, TIMER_OUT_MS="5000", UNIQ_KEY="D", REAL_TOPIC="t", TIMER_DEL_UNIQKEY="t+C")
    odd = stored(4, TIMER_OUT_MS="soon", UNIQ_KEY="E", REAL_TOPIC="t")
    assert still_waiting([past, coming, taken_back, recall, odd], 1000) == [(5000, coming)]


def test_what_goes_round_once_more_counts_once():
    first = stored(0, TIMER_OUT_MS="5000", UNIQ_KEY="A", REAL_TOPIC="t")
    again = stored(1, TIMER_OUT_MS="5000", UNIQ_KEY="A", REAL_TOPIC="t", TIMER_ROLL_TIMES="1")
    assert still_waiting([first, again], 1000) == [(5000, again)]

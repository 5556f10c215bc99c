"""What passes a guard."""

from __future__ import annotations

import logging

import pytest
from mqframe_testing.manual_clock import ManualClock
from net.access.plugins import call, manager

from mqframe.core.errors import BodyError, Refusal
from mqframe.core.requests.needs import Action, Needs, topic_need
from mqframe.hooks.interfaces import Authentication, Refused
from mqframe.net.access.access import Access
from mqframe.net.access.guard import FAILED, QUIET_SECONDS, AccessRefusals, Guard
from mqframe.net.access.settings import AccessSettings


class Place:
    def __init__(
        self, *, authorization: str = "matching", clients_only: bool = False, **more: tuple[int, ...]
    ) -> None:
        self.clock = ManualClock()
        settings = AccessSettings(authentication="naming", authorization=authorization, **more)
        access = Access(settings, self.clock, manager())
        self.refusals = AccessRefusals(self.clock)
        self.guard = Guard(access, self.refusals, 1000, clients_only=clients_only)

    def refused(self, *args: object, **kwargs: str) -> Refusal:
        with pytest.raises(Refusal) as caught:
            self.guard.admit(call(*args, **kwargs))  # type: ignore[arg-type]
        return caught.value


def test_who_may_passes_and_is_known() -> None:
    sent = call(310, user="orders", b="orders")
    Place().guard.admit(sent)
    assert sent.user == "orders"


def test_who_may_not_is_refused_and_counted() -> None:
    place = Place()
    assert place.refused(310, b="orders").remark == "who are you?"
    assert place.refused(310, user="others", b="orders").remark == "that is not yours"
    assert place.refusals.counters() == {"authenticationFailures": "1", "authorizationFailures": "1"}


def test_unknown_codes_need_the_cluster() -> None:
    place = Place()
    assert place.refused(99_999, user="orders").code == 16
    place.guard.admit(call(99_999, user="root"))


def test_a_plugin_that_fails_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    refusal = Place().refused(310, user="broken", b="orders")
    assert (refusal.code, refusal.remark) == (16, FAILED)
    assert "the table of users is on fire" in caplog.text


def test_without_authorization_who_is_known_may_do_everything() -> None:
    place = Place(authorization="")
    place.guard.admit(call(215, user="orders", topic="others"))
    assert place.refused(215, topic="others").code == 16


def test_bodies_that_are_too_long_or_rubbish_are_not_judged() -> None:
    place = Place()
    assert place.refused(34, b"{" * 1001, user="orders").code == 29
    with pytest.raises(BodyError):
        place.guard.admit(call(34, b"{", user="orders"))
    place.guard.admit(call(310, b"x" * 2000, user="orders", b="orders"))


def test_operators_have_a_port_of_their_own() -> None:
    place = Place(clients_only=True)
    for code in (17, 25, 26, 215, 3001, 100):
        assert "is for operators, who have a port of their own" in place.refused(code, user="root").remark
    place.guard.admit(call(310, user="orders", b="orders"))
    Guard(None, None, 1000, clients_only=True).admit(call(310, b="orders"))
    Guard(None, None, 1000, clients_only=True).admit(call(99_999))
    with pytest.raises(Refusal):
        Guard(None, None, 1000, clients_only=True).admit(call(17, topic="orders"))


def test_few_of_many_refusals_are_told(caplog: pytest.LogCaptureFixture) -> None:
    place = Place()
    for _ in range(1000):
        place.refused(310, b="x" * 100_000)
    place.clock.advance(QUIET_SECONDS)
    place.refused(310, user="y" * 100_000, b="orders")
    told = [each.getMessage() for each in caplog.records if each.name == "mqframe.access"]
    assert len(told) == 2
    assert "refused=1 " in told[0] + " "
    assert "refused=1000" in told[1]
    assert max(map(len, told)) < 2000


def test_a_change_that_may_not_be_is_written_down(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqframe.audit")
    place = Place()
    place.refused(215, user="others", topic="orders")
    place.refused(215, topic="orders")
    place.refused(310, user="others", b="orders")
    told = [each.getMessage() for each in caplog.records if each.name == "mqframe.audit"]
    assert len(told) == 1
    assert told[0].startswith("DeleteTopicInBroker user='others'")
    assert "refused: that is not yours" in told[0]


def test_codes_that_are_let_in_need_nobody_and_get_no_more() -> None:
    place = Place(authentication_whitelist=(310, 324))
    place.guard.admit(call(324))  # needs nothing but to be known
    assert place.refused(310, b="orders").remark == FAILED
    assert place.refused(310, user="others", b="orders").remark == "that is not yours"
    known = call(310, user="orders", b="orders")
    place.guard.admit(known)
    assert known.user == "orders"
    assert place.refused(10, topic="orders").remark == "who are you?"
    Place(authentication_whitelist=(310,), authorization="").guard.admit(call(310, b="orders"))


def test_codes_that_are_granted_need_somebody_known() -> None:
    place = Place(authorization_whitelist=(310,))
    place.guard.admit(call(310, user="others", b="orders"))
    assert place.refused(310, b="orders").remark == "who are you?"
    assert place.refused(10, user="others", topic="orders").remark == "that is not yours"
    both = Place(authentication_whitelist=(310,), authorization_whitelist=(310,))
    both.guard.admit(call(310, b="orders"))
    assert both.refusals.counters() == {"authenticationFailures": "0", "authorizationFailures": "0"}


def test_what_shows_later_is_asked_then_and_counted() -> None:
    place = Place()
    sent = call(37, user="orders")
    place.guard.admit(sent)
    sent.demand(topic_need("orders", (Action.PUB,)))
    with pytest.raises(Refusal, match="that is not yours"):
        sent.demand(topic_need("others", (Action.PUB,)))
    assert place.refusals.counters()["authorizationFailures"] == "1"
    for open_to_all in (Place(authorization=""), Place(authorization_whitelist=(37,))):
        sent = call(37, user="orders")
        open_to_all.guard.admit(sent)
        sent.demand(topic_need("others", (Action.PUB,)))


def test_whom_a_service_of_the_broker_vouches_for_is_asked_for_rights_alone() -> None:
    place = Place()
    sent = call(310, b="orders")
    sent.user = "orders"
    place.guard.admit(sent)
    assert sent.user == "orders"
    sent.user = "others"
    with pytest.raises(Refusal, match="that is not yours"):
        place.guard.admit(sent)
    assert place.refusals.counters() == {"authenticationFailures": "0", "authorizationFailures": "1"}


MINE = Needs(lambda _: [topic_need("anna", (Action.SUB,))])


def test_what_is_no_request_is_judged_as_one(caplog: pytest.LogCaptureFixture) -> None:
    place = Place()

    def refused(user: str) -> Refused:
        with pytest.raises(Refused) as caught:
            place.guard.admit(call(0, b"hello", user=user), MINE)
        return caught.value

    known = call(0, b"hello", user="anna")
    place.guard.admit(known, MINE)
    assert known.user == "anna"
    assert [refused(user).remark for user in ("ben", "", "broken")] == [
        "that is not yours",
        "who are you?",
        FAILED,
    ]
    assert "on fire" in refused("broken").cause
    assert "access control failed" in caplog.text
    assert place.refusals.counters() == {"authenticationFailures": "3", "authorizationFailures": "1"}


def test_what_nobody_counts_is_judged_all_the_same() -> None:
    access = Access(
        AccessSettings(authentication="naming", authorization="matching"), ManualClock(), manager()
    )
    guard = Guard(access, None, 0)
    guard.admit(call(0, b"hello", user="anna"), MINE)
    with pytest.raises(Refused, match="that is not yours"):
        guard.admit(call(0, user="ben"), MINE)


def test_a_signature_of_a_text_stands_for_that_of_a_request() -> None:
    place = Place()
    signed = call(0)
    place.guard.admit(signed, MINE, ("anna", b"now", b"now"))
    assert signed.user == "anna"
    for user, signature, remark in (
        ("anna", b"then", "who are you?"),
        ("ben", b"now", "that is not yours"),
        ("broken", b"now", FAILED),
    ):
        with pytest.raises(Refused) as caught:
            place.guard.admit(call(0), MINE, (user, b"now", signature))
        assert caught.value.remark == remark
    assert place.refusals.counters() == {"authenticationFailures": "2", "authorizationFailures": "1"}


def test_an_authentication_of_requests_alone_refuses_texts() -> None:
    peer = call(0).peer
    with pytest.raises(Refused, match="signatures are not taken here"):
        Authentication().authenticate_text(peer, "anna", b"now", b"now")  # type: ignore[arg-type]

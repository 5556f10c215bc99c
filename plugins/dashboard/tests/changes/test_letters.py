"""Dead letters that are sent again, and opened."""

from __future__ import annotations

import re

import pytest

GROUP = {"group": "shipping"}


def ends(admin, topic: str) -> int:
    return sum(each.max_offset for each in admin.topics.stats(topic).values())


@pytest.fixture
def ids(boss, given_up) -> list[str]:
    """What the boxes of both dead letters stand for."""
    found = re.findall('name="id" value="([^"]+)"', boss.browser.page("/resend", **GROUP))
    assert len(found) == 2
    return found


def test_ticked_letters_go_to_the_group_alone_unless_it_is_said(boss, boss_admin, ids):
    answer = boss.fill_in("/resend", GROUP, which="picked", id=[ids[0]])
    assert "1 of 1 dead letters were sent again" in answer.text, answer.text
    assert (ends(boss_admin, "%RETRY%shipping"), ends(boss_admin, "orders")) == (1, 2)
    answer = boss.fill_in("/resend", GROUP, which="picked", id=ids, to="group")
    assert "1 of 2 dead letters were sent again" in answer.text
    assert "left out: it was sent again before" in answer.text
    answer = boss.fill_in("/resend", GROUP, which="found", to="topic", again="1")
    assert "2 of 2 dead letters were sent again" in answer.text
    assert (ends(boss_admin, "%RETRY%shipping"), ends(boss_admin, "orders")) == (2, 4)
    assert ends(boss_admin, "%DLQ%shipping") == 2


def test_the_form_warns_and_chooses_the_group(boss, given_up):
    page = boss.browser.page("/resend", **GROUP)
    assert "ALL groups that subscribe it get them again" in page
    assert 'name="to" value="group" checked' in page
    assert "&lt;i&gt;paid&lt;/i&gt;" in page
    assert "<i>" not in page


def test_all_that_a_filter_finds_are_sent_and_no_others(boss, boss_admin, given_up):
    query = GROUP | {"tag": "paid"}
    assert "all 1 of this page" in boss.browser.page("/resend", **query)
    answer = boss.fill_in("/resend", query, which="found", to="group")
    assert "1 of 1 dead letters were sent again" in answer.text, answer.text
    assert given_up[0] in answer.text
    assert given_up[1] not in answer.text
    assert "has no such dead letters" in boss.browser.page("/resend", **GROUP, tag="none")


def test_what_makes_no_sense_sends_nothing(boss, boss_admin, ids):
    for values, status, said in (
        ({"which": "picked"}, 400, "no dead letter is chosen"),
        ({"which": "picked", "id": [ids[0], "none"]}, 404, "has no dead letter none; nothing was sent"),
        ({"which": "picked", "id": ids * 101}, 400, "202 dead letters are too many"),
        ({"which": "picked", "id": [ids[0]], "to": "all"}, 400, "choose group or topic"),
        ({"which": "found", "since": "soon"}, 400, "is no time"),
    ):
        answer = boss.fill_in("/resend", GROUP, **values)
        assert answer.status_code == status, answer.text
        assert said in answer.text
    assert "%RETRY%shipping" not in boss_admin.topics.list() or ends(boss_admin, "%RETRY%shipping") == 0
    assert boss.browser.get("/resend", group="shiping").status_code == 404


def test_who_may_not_send_to_the_group_sends_nothing(clerk, boss_admin, given_up):
    answer = clerk.fill_in("/resend", GROUP, which="found", to="group")
    assert answer.status_code == 403
    assert "clerk: User:clerk has no permission" in answer.text
    assert ends(boss_admin, "orders") == 2
    boss_admin.policies.set("clerk", ["Topic:*", "Group:shipping"], actions=["Get", "Sub", "Pub"])
    answer = clerk.fill_in("/resend", GROUP, which="found", to="group")
    assert "2 of 2 dead letters were sent again" in answer.text, answer.text


def test_letters_are_opened_and_closed(boss, boss_admin, given_up):
    answer = boss.fill_in("/letters-open", GROUP)
    assert "Dead letters of shipping are closed" in answer.text, answer.text
    assert boss_admin.topics.config("%DLQ%shipping")["broker-a"].perm == 2
    page = boss.browser.page("/resend", **GROUP)
    assert "Open them first" in page
    assert 'action="letters-open"' in page
    answer = boss.fill_in("/letters-open", GROUP)
    assert "Dead letters of shipping are open" in answer.text
    assert boss_admin.topics.config("%DLQ%shipping")["broker-a"].perm == 6

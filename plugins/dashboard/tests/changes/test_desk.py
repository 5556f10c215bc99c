"""Signing in and out, and forms that are sent by others, twice, late, or not allowed."""

from __future__ import annotations

import re

import pytest
from mqframe_dashboard.changes.assembly import CHANGES
from mqframe_testing import Cluster

CREATE = {"queues": "1", "perm": "6"}


@pytest.fixture
def form(boss) -> dict[str, str]:
    """A form that creates the topic `new`."""
    return boss.form("/topic-create") | CREATE | {"name": "new"}


def test_who_signs_in_gets_a_cookie_and_forms(person, boss_admin):
    assert 'href="sign-in"' in person.browser.page("/topics")
    assert "topic-create" not in person.browser.page("/topics")
    answer = person.sign_in("boss", "the boss's secret")
    assert answer.status_code == 303
    assert answer.headers["location"] == "./"
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(r"mqframe_session=[\w-]{43}; HttpOnly; Max-Age=28800; SameSite=strict", cookie), (
        cookie
    )
    page = person.browser.page("/topics")
    assert "topic-create" in page
    assert "<span>boss</span>" in page
    assert "the boss&#39;s secret" not in page


def test_behind_https_the_cookie_is_secure(person):
    form = {"user": "boss", "secret": "the boss's secret"}
    url, headers = "https://127.0.0.1/sign-in", {"origin": "https://127.0.0.1"}
    answer = person.browser.request("POST", url, data=form, headers=headers)
    assert answer.status_code == 303, answer.text
    assert "; Secure" in answer.headers["set-cookie"]


def test_secrets_do_not_travel_over_plain_connections(open_browser, guarded):
    browser = open_browser(guarded.nameserver, sign_in="cluster", trusted_hosts=["dash.example"])
    headers = {"host": "dash.example", "origin": "http://dash.example"}
    form = {"user": "boss", "secret": "the boss's secret"}
    for method, data in (("GET", None), ("POST", form)):
        answer = browser.request(method, "/sign-in", data=data, headers=headers)
        assert answer.status_code == 403
        assert "Sign in by https" in answer.text


@pytest.mark.parametrize(
    ("user", "secret"),
    [
        ("boss", "another"),
        ("nobody", "the boss's secret"),
        ("boss", ""),
        ("", "x"),
        ("\x00", "x"),
        ("ü€", "ü€"),
    ],
)
def test_a_wrong_name_and_a_wrong_secret_look_alike(person, user, secret):
    answer = person.sign_in(user, secret)
    assert answer.status_code == 403
    assert "Name or secret is wrong, or this user is disabled." in answer.text
    assert "set-cookie" not in answer.headers
    assert person.browser.get("/topic-create").status_code == 401


def test_who_is_disabled_looks_like_a_wrong_secret(person, boss_admin):
    boss_admin.users.create("gone", "secret")
    boss_admin.users.update("gone", enabled=False)
    assert "Name or secret is wrong" in person.sign_in("gone", "secret").text


def test_guessing_is_stopped(person):
    for _ in range(5):
        assert person.sign_in("boss", "guess").status_code == 403
    for secret in ("guess", "the boss's secret"):
        answer = person.sign_in("boss", secret)
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 300
        assert "Too many failed sign-ins" in answer.text


def test_signing_in_again_makes_a_new_session(boss, form):
    jar = dict(boss.browser.cookies)
    assert boss.sign_in("boss", "the boss's secret").status_code == 303
    assert dict(boss.browser.cookies) != jar
    assert boss.post("/topic-create", form).status_code == 403
    boss.browser.cookies = jar
    assert boss.browser.get("/topic-create").status_code == 401


def test_after_signing_out_nothing_is_done(boss, boss_admin, form):
    jar = dict(boss.browser.cookies)
    assert boss.browser.get("/sign-out").status_code == 405
    assert boss.post("/sign-out", {"token": "wrong"}).status_code == 403
    answer = boss.post("/sign-out", {"token": form["token"]})
    assert answer.status_code == 303
    assert "Max-Age=0" in answer.headers["set-cookie"]
    boss.browser.cookies = jar
    assert boss.post("/topic-create", form).status_code == 401
    assert "new" not in boss_admin.topics.list()


def test_forms_without_the_token_of_the_session_are_refused(boss, boss_admin, form):
    other = boss.form("/topic-create")["token"]
    assert other == form["token"]
    for token in (None, "", "wrong", form["token"][:-1], form["token"] + "x", "\u2603"):
        answer = boss.post("/topic-create", {**form, "token": token} if token is not None else without(form))
        assert answer.status_code == 403, token
        assert "not of your session" in answer.text
    assert "new" not in boss_admin.topics.list()


def without(form: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in form.items() if name != "token"}


def test_the_token_of_another_session_is_refused(boss, boss_admin, form):
    boss.browser.cookies = {}
    assert boss.sign_in("boss", "the boss's secret").status_code == 303
    answer = boss.post("/topic-create", form)
    assert answer.status_code == 403
    assert "new" not in boss_admin.topics.list()


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "http://127.0.0.1:8081", "http://[::1"]
)
def test_forms_from_elsewhere_are_refused(boss, boss_admin, form, origin):
    answer = boss.browser.request("POST", "/topic-create", data=form, headers={"origin": origin})
    assert answer.status_code == 403
    assert "comes from elsewhere" in answer.text
    assert boss.browser.request("POST", "/topic-create", data=form).status_code == 403
    assert "new" not in boss_admin.topics.list()


def test_other_bodies_than_forms_are_refused(boss, form):
    headers = {"origin": "http://127.0.0.1"}
    for options, status in (
        ({"json": form}, 415),
        ({"content": b"x=" + b"y" * 300_000, "type": True}, 413),
        ({"content": b"\xff=1", "type": True}, 400),
        ({"content": b"&".join(b"a=1" for _ in range(3000)), "type": True}, 400),
    ):
        more = {"content-type": "application/x-www-form-urlencoded"} if options.pop("type", None) else {}
        answer = boss.browser.request("POST", "/topic-create", headers=headers | more, **options)
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize("path", sorted(each.path for each in CHANGES))
def test_odd_names_are_text_on_every_form(boss, path):
    odd = '"><script>alert(1)</script>\u202e'
    answer = boss.browser.get(path, name=odd, group=odd, topic=odd, key=odd, resource=odd, to=odd)
    assert answer.status_code in (200, 400, 404)
    assert "<script>alert" not in answer.text
    assert "\u202e" not in answer.text
    form = {"token": boss.form("/topic-create")["token"], "ticket": odd}
    form |= dict.fromkeys(("name", "group", "topic", "id", "key", "confirm", "resource", "kind"), odd)
    answer = boss.post(path, form)
    assert 400 <= answer.status_code < 500, answer.text
    assert "<script>alert" not in answer.text


def test_nothing_is_changed_by_get(boss, boss_admin, form):
    assert boss.browser.get("/topic-create", **form).status_code == 200
    assert "new" not in boss_admin.topics.list()


def test_a_form_that_comes_twice_is_done_once(boss, given_up, boss_admin):
    form = boss.form("/resend", group="shipping") | {"which": "found", "to": "group", "again": "1"}
    first, second = boss.both("/resend", form)
    assert first.text == second.text
    assert "2 of 2 dead letters were sent again" in first.text
    assert boss.post("/resend", form).text == first.text
    assert sum(each.max_offset for each in boss_admin.topics.stats("%RETRY%shipping").values()) == 2


def test_what_policies_forbid_is_said_as_a_sentence(clerk, boss_admin, caplog):
    boss_admin.topics.create("own-one", queues=1)
    boss_admin.topics.create("orders", queues=1)
    answer = clerk.fill_in("/topic-change", {"name": "own-one"}, read_queues="2", write_queues="2", perm="6")
    assert answer.status_code == 200, answer.text
    with caplog.at_level("INFO", "mqframe.audit"):
        answer = clerk.fill_in("/topic-delete", {"name": "orders"}, confirm="orders")
    assert answer.status_code == 403
    assert "You may not do this" in answer.text
    assert "clerk: User:clerk has no permission to access Topic:orders" in answer.text
    assert "orders" in boss_admin.topics.list()
    [line] = [each for each in caplog.records if each.getMessage().startswith("dashboard topic-delete")]
    assert line.fields["user"] == "clerk"
    assert line.fields["request"] == {"name": "orders", "confirm": "orders"}
    assert line.fields["outcome"].startswith("refused: User:clerk has no permission")
    by_broker = [each for each in caplog.records if each.getMessage().startswith("DeleteTopicInBroker")]
    assert [each.fields["user"] for each in by_broker] == ["clerk"]


def test_a_secret_that_was_changed_meanwhile_is_told(boss, boss_admin, form):
    boss_admin.users.create("other", "secret", everything=True)
    assert boss.sign_in("other", "secret").status_code == 303
    form = boss.form("/topic-create") | CREATE | {"name": "new"}
    boss_admin.users.update("other", secret="another")
    answer = boss.post("/topic-create", form)
    assert answer.status_code == 403
    assert "Sign in again if your secret was changed" in answer.text


def test_a_cluster_that_goes_away_during_a_change_is_told(boss, guarded: Cluster, boss_admin, form):
    boss_admin.topics.create("orders", queues=1)
    boss_admin.groups.create("shipping")
    group = boss.form("/group-create") | {"name": "late", "retries": "1"}
    guarded.stop_broker(0)
    answer = boss.post("/group-create", group)
    assert answer.status_code in (400, 503), answer.text
    assert "no master of any broker is registered" in answer.text or "nothing was done" in answer.text
    guarded.start_broker(0)
    answer = boss.post("/group-create", group)
    assert "Group late was created" in answer.text


def test_sessions_end_by_themselves(boss, form, monkeypatch, boss_admin):
    monkeypatch.setattr("mqframe_dashboard.changes.sessions.IDLE_SECONDS", 0.0)
    answer = boss.post("/topic-create", form)
    assert answer.status_code == 401
    assert "your session may be over" in answer.text
    assert "Sign in" in answer.text
    assert "new" not in boss_admin.topics.list()

"""A cluster that asks who sends a request, and browsers whose users signed in."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from mqframe_testing import Cluster
from mqframe_testing.cluster import AccessSettings

from mqframe import Admin, Message, Producer, PushConsumer, SubscriptionGroupConfig

BOSS = ("boss", "the boss's secret")
ORIGIN = {"origin": "http://127.0.0.1"}


def signed(user: str, secret: str) -> dict[str, Any]:
    """Arguments of clients that sign."""
    return {"rpc_hooks": [("acl", {"access_key": user, "secret_key": secret})]}


class Person:
    """Fills in forms of a dashboard as a browser does: what is hidden in them goes along."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def sign_in(self, user: str, secret: str, **headers: str) -> httpx.Response:
        form = {"user": user, "secret": secret}
        return self.browser.request("POST", "/sign-in", data=form, headers=ORIGIN | headers)

    def form(self, path: str, **query: Any) -> dict[str, str]:
        """The hidden values of the form on a page."""
        return hidden_values(self.browser.page(path, **query), path.removeprefix("/"))

    def post(self, path: str, form: dict[str, Any], **headers: str) -> httpx.Response:
        return self.browser.request("POST", path, data=form, headers=ORIGIN | headers)

    def both(self, path: str, form: dict[str, Any]) -> list[httpx.Response]:
        """One form, sent twice at once."""
        request = {"method": "POST", "url": path, "data": form, "headers": ORIGIN}
        return self.browser.both(request, request)

    def fill_in(self, path: str, query: dict[str, Any], **values: Any) -> httpx.Response:
        """Open a form, and send it with `values`."""
        return self.post(path, self.form(path, **query) | values)


def hidden_values(page: str, action: str) -> dict[str, str]:
    """What the form with `action` brings along."""
    form = re.search(rf'<form action="{action}" method="post".*?</form>', page, re.DOTALL)
    assert form, page
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[0])
    return {name: value.replace("&amp;", "&").replace("&#34;", '"') for name, value in found}


@pytest.fixture
def guarded() -> Iterator[Cluster]:
    """Servers that ask who sends a request, and grant nothing by themselves."""
    cluster = Cluster()
    cluster.cluster.enforce(
        AccessSettings(
            authentication="acl2",
            authorization="acl2",
            initial_user=":".join(BOSS),
            inner_credentials="inner:of the servers",
        )
    )
    with cluster:
        yield cluster


@pytest.fixture
def boss_access(guarded: Cluster) -> dict[str, Any]:
    """Arguments of clients that may do everything."""
    return {"nameserver": guarded.nameserver, **signed(*BOSS)}


@pytest.fixture
def boss_admin(boss_access: dict[str, Any]) -> Iterator[Admin]:
    """Signs as one who may do everything."""
    with Admin(**boss_access) as admin:
        yield admin


@pytest.fixture
def person(guarded: Cluster, boss_admin: Admin, open_browser: Callable[..., Any]) -> Person:
    """Somebody at a dashboard of `guarded`, which itself may only read; not signed in yet."""
    boss_admin.users.create("eyes", "of the dashboard")
    for resource in ("Cluster:*", "Topic:*", "Group:*"):
        boss_admin.policies.set("eyes", [resource], actions=["Get", "List", "Sub"])
    access = signed("eyes", "of the dashboard")
    return Person(open_browser(guarded.nameserver, sign_in="cluster", **access))


@pytest.fixture
def clerk(person: Person, boss_admin: Admin) -> Person:
    """Signed in, and may do nothing but look, and change topics that begin with "own-"."""
    boss_admin.users.create("clerk", "of the clerk")
    boss_admin.policies.set("clerk", ["Topic:own-*"])
    boss_admin.policies.set("clerk", ["Cluster:*"], actions=["Get"])
    assert person.sign_in("clerk", "of the clerk").status_code == 303
    return person


@pytest.fixture
def boss(person: Person) -> Person:
    """Signed in, and may do everything."""
    assert person.sign_in(*BOSS).status_code == 303
    return person


@pytest.fixture
def given_up(boss_access: dict[str, Any], boss_admin: Admin) -> list[str]:
    """Ids of two messages that the group `shipping` gave up."""
    boss_admin.topics.create("orders", queues=1)
    boss_admin.groups.create(SubscriptionGroupConfig("shipping", retry_max_times=0))
    consumer = PushConsumer("shipping", consume_from="first", **boss_access)
    done = threading.Semaphore(0)

    def fail(message: object) -> None:
        done.release()
        raise ValueError("no")

    consumer.subscribe("orders", "*", fail)
    with Producer(group="shop", **boss_access) as producer, consumer:
        ids = [
            producer.send(Message("orders", f"<i>{tag}</i>".encode(), tag, [f"key-{tag}"])).message_id
            for tag in ("paid", "sent")
        ]
        for _ in ids:
            assert done.acquire(timeout=60)
        while sum(boss_admin.dead_letters.get("shipping", each) is not None for each in ids) < len(ids):
            pass
    boss_admin.dead_letters.open("shipping")
    return ids

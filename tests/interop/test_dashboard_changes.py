"""Changes in the dashboard by users of Apache's brokers, and by users of a file elsewhere."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import httpx
from mqframe_dashboard import create_app
from mqframe_dashboard.changes.user_file import user_line
from real_time import until

from interop.guarded import signed
from interop.servers import Servers
from mqframe import Admin, Message, Producer, PushConsumer, SubscriptionGroupConfig


class Person:
    """Fills in forms in one browser."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        client.headers["origin"] = str(client.base_url)

    async def sign_in(self, user: str, secret: str) -> httpx.Response:
        return await self._client.post("/sign-in", data={"user": user, "secret": secret})

    async def fill_in(self, path: str, query: dict[str, str], **values: Any) -> str:
        """What comes of the form at `path`, sent with `values`."""
        page = await self._client.get(path, params=query)
        assert page.status_code == 200, page.text
        form = re.search(rf'<form action="{path[1:]}" method="post".*?</form>', page.text, re.DOTALL)
        assert form, page.text
        hidden = dict(re.findall('<input type="hidden" name="([^"]*)" value="([^"]*)">', form[0]))
        return (await self._client.post(path, data=hidden | values)).text

    async def post(self, path: str, form: dict[str, str]) -> str:
        return (await self._client.post(path, data=form)).text

    async def page(self, path: str) -> str:
        return (await self._client.get(path)).text


async def at_dashboard(nameserver: str, work: Any, **options: Any) -> None:
    app = create_app(nameserver, **options)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=120
        ) as client,
    ):
        await work(Person(client))


def given_up(servers: Servers, topic: str, group: str) -> str:
    """The id of a message of `topic` that `group` gave up, and that may be read."""
    access = {"nameserver": servers.nameserver, **signed()}
    tried = threading.Event()

    def fail(message: object) -> None:
        tried.set()
        raise ValueError("no")

    with Admin(**access) as admin:
        admin.topics.create(topic, queues=1)
        admin.groups.create(SubscriptionGroupConfig(group, retry_max_times=0))
        until(lambda: topic in admin.topics.list())
        consumer = PushConsumer(group, consume_from="first", **access)
        consumer.subscribe(topic, "*", fail)
        with Producer(group="dashboard_shop", **access) as producer, consumer:
            message_id = producer.send(Message(topic, b"hello")).message_id
            assert tried.wait(60)
            until(lambda: admin.dead_letters.get(group, message_id) is not None)
        admin.dead_letters.open(group)
        until(lambda: len(admin.dead_letters.list(group)) == 1)
    return message_id


def test_users_of_apaches_brokers_change_what_they_may(guarded: Servers) -> None:
    given_up(guarded, "changed_orders", "changed_group")

    async def work(person: Person) -> None:
        for user, secret in (("rocketmq", "wrong"), ("nobody", "12345678")):
            answer = await person.sign_in(user, secret)
            assert answer.status_code == 403, answer.text
            assert "Name or secret is wrong" in answer.text
        assert (await person.sign_in("rocketmq", "12345678")).status_code == 303
        form = {"queues": "2", "perm": "6", "type": ""}
        assert "was created" in await person.fill_in("/topic-create", {}, name="made_here", **form)
        group = {"enabled": "1", "retries": "3"}
        assert "was created" in await person.fill_in("/group-create", {}, name="made_group", **group)
        query = {"group": "changed_group"}
        sent = await person.fill_in("/resend", query, which="found", to="group")
        assert "1 of 1 dead letters were sent again" in sent
        query |= {"topic": "changed_orders", "to": "start"}
        assert "were reset" in await person.fill_in("/offsets", query)
        query = {"name": guarded.broker_name, "key": "waitTimeMillsInSendQueue"}
        assert "<td>30000</td>" in await person.fill_in("/setting", query, value="30000")
        assert "was created" in await person.fill_in(
            "/users", {}, name="clerk", secret="12345678", kind="normal"
        )
        for resource, actions in (("Cluster:*", "Get"), ("Topic:made_*", "All")):
            policy = await person.page("/user?name=clerk")
            hidden = dict(re.findall('<input type="hidden" name="([^"]*)" value="([^"]*)">', policy))
            assert hidden["name"] == "clerk"
            values = {"resource": resource, "actions": actions, "decision": "allow", "sources": ""}
            assert "was changed" in await person.post("/policy", hidden | values)
        assert "Topic:made_*" in await person.page("/user?name=clerk")
        assert (await person.sign_in("clerk", "12345678")).status_code == 303
        query = {"name": "changed_orders"}
        refused = await person.fill_in("/topic-delete", query, confirm="changed_orders")
        assert "clerk: User:clerk has no permission to access Topic:changed_orders" in refused
        query = {"name": "made_here"}
        assert "was deleted" in await person.fill_in("/topic-delete", query, confirm="made_here")

    asyncio.run(at_dashboard(guarded.nameserver, work, sign_in="cluster", **signed()))


def test_servers_that_check_nobody_have_users_of_a_file(servers: Servers, tmp_path: Path) -> None:
    async def nobody(person: Person) -> None:
        answer = await person.sign_in("rocketmq", "12345678")
        assert answer.status_code == 403
        assert "keys prove nothing" in answer.text

    async def work(person: Person) -> None:
        assert (await person.sign_in("ann", "her secret")).status_code == 303
        form = {"queues": "2", "perm": "6", "type": ""}
        assert "was created" in await person.fill_in("/topic-create", {}, name="of_the_file", **form)
        query = {"name": "of_the_file"}
        assert "was deleted" in await person.fill_in("/topic-delete", query, confirm="of_the_file")

    asyncio.run(at_dashboard(servers.nameserver, nobody, sign_in="cluster"))
    path = tmp_path / "users"
    path.write_text(user_line("ann", "her secret"))
    asyncio.run(at_dashboard(servers.nameserver, work, sign_in=f"file:{path}"))

"""Access keys on brokers of 4.9, which tell of a refusal as an error of the system, and of 5.x."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_time import until
from scenarios.access_uses import Use, poll, pop, pull, push, send, send_in_a_transaction

from interop.apache import Apache
from interop.conftest import java_class_path, newest_and
from interop.foreign_programs import LATEST, OLDER
from interop.guarded import GUARDED
from interop.servers import Servers
from mqframe import AccessError, Admin, Message, Producer, Puller

pytestmark = pytest.mark.proves("signatures", "users", by="Apache 4.9.7")

ACCOUNTS = """\
accounts:
- accessKey: administrator
  secretKey: '12345678'
  admin: true
- accessKey: reader00
  secretKey: '12345678'
  admin: false
  defaultTopicPerm: SUB
  defaultGroupPerm: SUB
"""


def signed(access_key: str = "administrator", secret_key: str = "12345678") -> dict[str, Any]:
    return {"rpc_hooks": [("acl", {"access_key": access_key, "secret_key": secret_key})]}


@pytest.fixture(scope="module", params=[pytest.param(OLDER, marks=pytest.mark.long)])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Apache's servers of the older version with access control."""
    home: Path = tmp_path_factory.mktemp("guarded")
    (home / "conf").mkdir()
    (home / "conf/plain_acl.yml").write_text(ACCOUNTS)
    conf = "aclEnable=true\n"
    with Apache(java_class_path(request.param), home, conf=conf, access=signed()) as running:
        yield running.servers


def test_who_may_not_is_told_so(guarded: Servers) -> None:
    with Admin(nameserver=guarded.nameserver, **signed()) as admin:
        admin.topics.create("kept", queues=1)
        until(lambda: "kept" in admin.topics.list())
    with Producer("shop", nameserver=guarded.nameserver, **signed()) as producer:
        sent = producer.send(Message("kept", b"secret"))
    for access, said in (
        ({}, "No accessKey is configured"),
        (signed("nobody00"), "No acl config for nobody00"),
        (signed(secret_key="87654321"), "Check signature failed for accessKey=administrator"),
    ):
        with (
            Puller(nameserver=guarded.nameserver, **access) as puller,
            pytest.raises(AccessError, match=said),
        ):
            puller.pull(sent.queue, 0)
    reader = signed("reader00")
    with Puller(nameserver=guarded.nameserver, **reader) as puller:
        assert [each.body for each in puller.pull(sent.queue, 0).messages] == [b"secret"]
    with (
        Producer("shop", nameserver=guarded.nameserver, **reader) as producer,
        pytest.raises(AccessError, match="No default permission for topic:kept"),
    ):
        producer.send(Message("kept", b"more"))
    with (
        Admin(nameserver=guarded.nameserver, **reader) as admin,
        pytest.raises(AccessError, match="Need admin permission"),
    ):
        admin.topics.create("not_mine")


@pytest.fixture(scope="module", params=newest_and(LATEST))
def asking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Apache's servers where `shop` may read and write the topic `orders` in the group `shop`."""
    admins = signed("rocketmq")
    home = tmp_path_factory.mktemp("asking")
    with Apache(java_class_path(request.param), home, conf=GUARDED, access=admins) as running:
        servers = running.servers
        with Admin(nameserver=servers.nameserver, **admins) as admin:
            for topic in ("orders", "secrets"):
                admin.topics.create(topic, queues=1)
                until(lambda topic=topic: topic in admin.topics.list())  # type: ignore[misc]
            for group in ("shop", "others"):
                admin.groups.create(group)
            admin.users.create("shop", "12345678", server=servers.broker)
            allowed = ["Topic:orders", "Group:shop"]
            admin.policies.set("shop", allowed, actions=["Pub", "Sub", "Get"], server=servers.broker)
        yield servers


@pytest.mark.parametrize("use", [send, send_in_a_transaction, pull, push, poll, pop])
def test_every_kind_of_client_is_told(asking: Servers, use: Use) -> None:
    at = {"nameserver": asking.nameserver}
    with pytest.raises(AccessError, match="check signature failed"):
        use("orders", "shop", at | signed("shop", "87654321"))
    with pytest.raises(AccessError, match=r"User:shop has no permission to access Topic:secrets"):
        use("secrets", "shop", at | signed("shop"))
    if use not in (send, send_in_a_transaction):
        with pytest.raises(AccessError, match=r"User:shop has no permission to access Group:others"):
            use("orders", "others", at | signed("shop"))
    send("orders", "shop", at | signed("shop"))
    use("orders", "shop", at | signed("shop"))

"""Java clients that sign, and the commands of mqadmin for users and policies, against our servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mqframe_testing import Cluster

from interop.conftest import StartJava
from interop.mqadmin import running
from mqframe import AccessError, Admin, Message, Producer
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings

SETTINGS = AccessSettings(
    authentication="acl2",
    authorization="acl2",
    initial_user="rocketmq:12345678",
    inner_credentials="inner:12345678",
)
ADMIN = ("rocketmq", "12345678")
ACCOUNTS = """\
accounts:
- {accessKey: operator, secretKey: secret78, admin: true}
- accessKey: javashop
  secretKey: secret78
  topicPerms: [orders=PUB|SUB, others=SUB]
  groupPerms: [java_group=SUB]
"""


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Cluster]:
    """Our servers, which ask who sends a request."""
    cluster = Cluster(directory=tmp_path / "servers")
    cluster.cluster.enforce(SETTINGS)
    with cluster:
        yield cluster


def keys(user: str, secret: str) -> list[object]:
    return [("acl", {"access_key": user, "secret_key": secret})]


@pytest.mark.proves("signatures", "users")
def test_java_clients_do_what_their_user_may(asking: Cluster, java: StartJava) -> None:
    with Admin(nameserver=asking.nameserver, rpc_hooks=keys(*ADMIN)) as admin:
        for topic in ("orders", "others"):
            admin.topics.create(topic, queues=2)
        admin.users.create("javashop", "secret78")
        admin.policies.set("javashop", ["Topic:orders"], actions=["Pub", "Sub"])
        admin.policies.set("javashop", ["Topic:others"], actions=["Get"])
        admin.policies.set("javashop", ["Group:java*"], actions=["Sub"])
        shop = (asking.nameserver, "javashop", "secret78")
        consumer = java("Access", "consume", *shop, "java_group", "orders")
        assert java("Access", "send", *shop, "orders", "others").finish() == [["sent"], ["refused", "16"]]
        assert consumer.take("got", 1) == [["got", "hello"]]
        wrong = (asking.nameserver, "javashop", "secret79")
        assert java("Access", "send", *wrong, "orders").finish() == [["refused", "route"]]
        admin.users.update("javashop", enabled=False)
        assert java("Access", "send", *shop, "orders").finish() == [["refused", "route"]]


def test_java_clients_do_what_their_account_may(tmp_path: Path, java: StartJava) -> None:
    file = tmp_path / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    cluster = Cluster(plugins=PluginManager().configured({"plain_acl": {"file": str(file)}}))
    cluster.cluster.enforce(AccessSettings(plain=True, inner_credentials="inner:of the servers"))
    with cluster, Admin(nameserver=cluster.nameserver, rpc_hooks=keys("operator", "secret78")) as admin:
        for topic in ("orders", "others"):
            admin.topics.create(topic, queues=2)
        shop = (cluster.nameserver, "javashop", "secret78")
        consumer = java("Access", "consume", *shop, "java_group", "orders")
        assert java("Access", "send", *shop, "orders", "others").finish() == [["sent"], ["refused", "16"]]
        assert consumer.take("got", 1) == [["got", "hello"]]
        wrong = (cluster.nameserver, "javashop", "secret79")
        assert java("Access", "send", *wrong, "orders").finish() == [["refused", "route"]]


@pytest.mark.proves("users", by="mqadmin 5.3.3")
def test_mqadmin_makes_users_and_policies(asking: Cluster, newest_class_path: str, tmp_path: Path) -> None:
    with running(newest_class_path, asking.nameserver, tmp_path, ADMIN) as command:
        make_users_and_policies(asking, lambda *words: "\n".join(command(*words)))


def make_users_and_policies(asking: Cluster, mqadmin: Callable[..., str]) -> None:
    at = ("-b", asking.broker.address)
    assert "success" in mqadmin("createUser", *at, "-u", "shop", "-p", "secret78", "-t", "Normal")
    assert "success" in mqadmin("updateUser", *at, "-u", "shop", "-p", "secret79")
    listed = mqadmin("listUser", *at)
    assert "shop" in listed
    assert "Normal" in listed
    assert "shop" in mqadmin("getUser", *at, "-u", "shop")
    created = mqadmin(
        "createAcl", *at, "-s", "User:shop", "-r", "Topic:orders", "-a", "Pub,Sub", "-d", "Allow",
        "-i", "127.0.0.1,10.0.0.0/8",
    )  # fmt: skip
    assert "success" in created
    assert "success" in mqadmin(
        "updateAcl", *at, "-s", "User:shop", "-r", "Topic:orders,Group:*", "-a", "Pub", "-d", "Allow"
    )
    shown = mqadmin("listAcl", *at)
    assert "Topic:orders" in shown
    assert "Group:*" in mqadmin("getAcl", *at, "-s", "User:shop")
    asking_shop = {"nameserver": asking.nameserver, "rpc_hooks": keys("shop", "secret79")}
    with Admin(nameserver=asking.nameserver, rpc_hooks=keys(*ADMIN)) as admin:
        admin.topics.create("orders", queues=1)
    with Producer("shop", **asking_shop) as producer:
        producer.send(Message("orders", b"one"))
        assert "success" in mqadmin("deleteAcl", *at, "-s", "User:shop", "-r", "Topic:orders")
        with pytest.raises(AccessError, match="User:shop has no permission to access Topic:orders"):
            producer.send(Message("orders", b"two"))
    assert "success" in mqadmin("deleteUser", *at, "-u", "shop")
    assert "shop" not in mqadmin("listUser", *at)
    assert "shop" not in mqadmin("listAcl", *at)


@pytest.mark.proves("users", by="mqadmin 5.3.3")
def test_mqadmin_of_a_user_who_may_not(asking: Cluster, newest_class_path: str, tmp_path: Path) -> None:
    with Admin(nameserver=asking.nameserver, rpc_hooks=keys(*ADMIN)) as admin:
        admin.users.create("shop", "secret78")
    at = ("-b", asking.broker.address)
    for user in (("shop", "secret78"), ("nobody", "secret78")):
        with running(newest_class_path, asking.nameserver, tmp_path, user) as mqadmin:
            assert "success" not in "\n".join(mqadmin("createUser", *at, "-u", "evil", "-p", "evil1234"))
    with Admin(nameserver=asking.nameserver, rpc_hooks=keys(*ADMIN)) as admin:
        assert [user.username for user in admin.users.list()] == ["inner", "rocketmq", "shop"]

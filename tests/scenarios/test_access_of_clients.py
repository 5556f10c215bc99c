"""Whoever may not is told so by every kind of client, with an `AccessError` that says what to look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_testing import Cluster
from scenarios.access_scenes import SETTINGS, keys
from scenarios.access_uses import ALL, READING, Use, look, send

from mqframe import AccessError, Admin, ClientSettings


@pytest.fixture(scope="module")
def nameserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of servers where `shop` may read and write the topic `orders` in the group `shop`."""
    cluster = Cluster(directory=tmp_path_factory.mktemp("servers"))
    cluster.cluster.enforce(SETTINGS)
    with cluster:
        with Admin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            for topic in ("orders", "secrets", "farm%orders"):
                admin.topics.create(topic, queues=1)
            for group in ("shop", "others", "farm%shop"):
                admin.groups.create(group)
            admin.users.create("shop", "secret")
            admin.users.create("tenant", "secret")
            admin.policies.set("shop", ["Topic:orders", "Group:shop"], actions=["Pub", "Sub", "Get"])
            admin.policies.set("tenant", ["Topic:farm%*", "Group:farm%*"], actions=["Pub", "Sub", "Get"])
        yield cluster.nameserver


@pytest.mark.parametrize("use", ALL)
@pytest.mark.parametrize("user", [("shop", "wrong"), ("nobody", "secret"), None])
def test_a_wrong_key_or_none(nameserver: str, use: Use, user: tuple[str, str] | None) -> None:
    hooks = {} if user is None else {"rpc_hooks": keys(*user)}
    with pytest.raises(AccessError, match=r"Authentication failed.*check the keys"):
        use("orders", "shop", {"nameserver": nameserver, **hooks})


@pytest.mark.parametrize("use", ALL)
def test_a_foreign_topic(nameserver: str, use: Use) -> None:
    with pytest.raises(AccessError, match=r"User:shop has no permission to access Topic:secrets from 127"):
        use("secrets", "shop", {"nameserver": nameserver, "rpc_hooks": keys("shop")})


@pytest.mark.parametrize("use", READING)
def test_a_foreign_group(nameserver: str, use: Use) -> None:
    with pytest.raises(AccessError, match=r"User:shop has no permission to access Group:others from 127"):
        use("orders", "others", {"nameserver": nameserver, "rpc_hooks": keys("shop")})


@pytest.mark.parametrize("use", ALL)
def test_what_is_allowed(nameserver: str, use: Use) -> None:
    send("orders", "shop", {"nameserver": nameserver, "rpc_hooks": keys("shop")})
    use("orders", "shop", {"nameserver": nameserver, "rpc_hooks": keys("shop")})


@pytest.mark.parametrize("use", [use for use in ALL if use is not look])
def test_a_tenant_is_allowed_its_namespace(nameserver: str, use: Use) -> None:
    client = ClientSettings(nameserver=nameserver, namespace="farm")
    farm = {"client": client, "rpc_hooks": keys("tenant")}
    send("orders", "shop", farm)
    use("orders", "shop", farm)
    with pytest.raises(AccessError, match=r"User:tenant has no permission to access Topic:orders from 127"):
        use("orders", "shop", {"nameserver": nameserver, "rpc_hooks": keys("tenant")})

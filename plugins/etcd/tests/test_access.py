"""etcd with certificates, and with users: who may not is told so, and who may, may."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from etcd_servers import Certificates, EtcdCluster, coordination, place

from mqframe.core.errors import CoordinationError
from mqframe.hooks.interfaces import Snapshot

PATIENT: dict[str, Any] = {"timeout_seconds": 20.0}


async def leads(**options: Any) -> None:
    """Starts, leads, changes, is woken, renews, steps down, stops."""
    first, second = (coordination(**PATIENT, **options) for _ in range(2))
    try:
        await first.start(place(1), 60.0)
        await second.start(place(2), 60.0)
        await second.read()
        await first.announce(b"replica 1")
        version = await first.claim(b"state 1", b"leader 1", (await first.read()).version)
        assert version > 0
        assert await first.change(b"state 2", version) > version
        await asyncio.wait_for(second.changed(), 20)
        seen = await second.read()
        assert seen == Snapshot(b"state 2", seen.version, b"leader 1", {1: b"replica 1"})
        assert await first.renew()
        await first.step_down()
        await first.stop()
        assert await second.read() == Snapshot(b"state 2", seen.version, None, {})
    finally:
        await first.stop()
        await second.stop()


async def is_told(words: str, **options: Any) -> CoordinationError:
    member = coordination(**PATIENT, **options)
    try:
        with pytest.raises(CoordinationError, match=words) as raised:
            await member.start(place(1), 60.0)
    finally:
        await member.stop()
    return raised.value


async def test_members_and_clients_show_certificates(
    own_etcd: Callable[..., EtcdCluster], tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path)
    (tmp_path / "others").mkdir()
    others = Certificates(tmp_path / "others")
    etcd = own_etcd(certificates=certificates)
    mine = {"certificate": certificates.client, "key": certificates.client_key}
    await leads(endpoints=etcd.endpoints, ca=certificates.ca, **mine)
    refused = await is_told("CERTIFICATE_VERIFY_FAILED", endpoints=etcd.endpoints, ca=others.ca, **mine)
    assert not refused.maybe_stored
    await is_told(etcd.endpoints[0], endpoints=etcd.endpoints, ca=certificates.ca)
    strange = {"certificate": others.client, "key": others.client_key}
    await is_told(etcd.endpoints[0], endpoints=etcd.endpoints, ca=certificates.ca, **strange)
    name = tuple(each.replace("127.0.0.1", "localhost") for each in etcd.endpoints)
    await is_told("CERTIFICATE_VERIFY_FAILED", endpoints=name, ca=certificates.ca, **mine)


class Users:
    """Users of an etcd that asks for passwords: `root`, who may all, and others below a prefix each."""

    def __init__(self, etcd: EtcdCluster) -> None:
        self._etcd = etcd
        self._token = ""
        etcd.call("/v3/auth/user/add", {"name": "root", "password": "root"})
        etcd.call("/v3/auth/user/grant", {"user": "root", "role": self._role("root")})
        etcd.call("/v3/auth/enable", {})
        self.log_in()

    def log_in(self) -> None:
        answer = self._etcd.call("/v3/auth/authenticate", {"name": "root", "password": "root"})
        self._token = answer["token"]

    def add(self, name: str, password: str, prefix: str) -> None:
        self.call("/v3/auth/user/add", {"name": name, "password": password})
        first, end = (b64encode(prefix.encode() + end).decode() for end in (b"/", b"0"))
        may = {"permType": "READWRITE", "key": first, "range_end": end}
        self.call("/v3/auth/role/add", {"name": name})
        self.call("/v3/auth/role/grant", {"name": name, "perm": may})
        self.call("/v3/auth/user/grant", {"user": name, "role": name})

    def call(self, path: str, body: dict[str, Any]) -> None:
        self._etcd.call(path, body, self._token)
        self.log_in()  # tokens of before are too old

    def _role(self, name: str) -> str:
        self._etcd.call("/v3/auth/role/add", {"name": name})
        return name


async def test_users_have_passwords_and_a_prefix(own_etcd: Callable[..., EtcdCluster]) -> None:
    etcd = own_etcd()
    users = Users(etcd)
    users.add("shop", "hush", "/shop")
    at: dict[str, Any] = {"endpoints": etcd.endpoints, "prefix": "/shop"}
    await leads(user="shop", password="hush", **at)
    for words, options in (
        ("invalid user ID or password", {"user": "shop", "password": "wrong"}),
        ("invalid user ID or password", {"user": "nobody", "password": "hush"}),
    ):
        problem = await is_told(words, **options, **at)
        assert not problem.maybe_stored
        assert "hush" not in str(problem)
        assert "wrong" not in str(problem)

    other = coordination(endpoints=etcd.endpoints, prefix="/bank", user="shop", password="hush", **PATIENT)
    await other.start(place(1), 60.0)
    with pytest.raises(CoordinationError, match="permission denied") as raised:
        await other.claim(b"state", b"leader", 0)
    assert not raised.value.maybe_stored
    await other.stop()
    nobody = coordination(**at, **PATIENT)
    with pytest.raises(CoordinationError, match="user name is empty"):
        await nobody.look(place(1))
    await nobody.stop()


async def test_permissions_that_change_meanwhile_disturb_nobody_else(
    own_etcd: Callable[..., EtcdCluster],
) -> None:
    etcd = own_etcd()
    users = Users(etcd)
    users.add("shop", "hush", "/shop")
    at: dict[str, Any] = {"endpoints": etcd.endpoints, "prefix": "/shop"}
    member = coordination(user="shop", password="hush", **at, **PATIENT)
    await member.start(place(1), 60.0)
    version = await member.claim(b"state 1", b"leader 1", 0)
    users.add("bank", "hush", "/bank")
    newer = await member.change(b"state 2", version)
    assert newer > version
    await member.read()
    users.add("mill", "hush", "/mill")
    waiting = asyncio.ensure_future(member.changed())
    assert await member.force(place(0), b"state 3", newer) > newer
    await asyncio.wait_for(waiting, 20)
    assert (await member.read()).state == b"state 3"
    await member.stop()


async def test_a_user_where_etcd_asks_for_none_is_told_so(etcd: EtcdCluster) -> None:
    told = is_told("authentication is not enabled", endpoints=etcd.endpoints, user="shop", password="hush")
    assert not (await told).maybe_stored

"""Servers that enforce access, and clients of their users, for scenarios."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec

from mqframe_testing.cluster import AsyncCluster

from mqframe.core.requests import Request
from mqframe.core.requests.messages import SendMessage
from mqframe.hooks.interfaces import RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock

P = ParamSpec("P")
SETTINGS = AccessSettings(
    authentication="acl2", authorization="acl2", initial_user="admin:secret", inner_credentials="inner:inside"
)


def keys(user: str, secret: str = "secret") -> list[Any]:
    return [("acl", {"access_key": user, "secret_key": secret})]


@asynccontextmanager
async def enforcing(
    directory: Path, settings: AccessSettings = SETTINGS, **more: Any
) -> AsyncIterator[AsyncCluster]:
    cluster = AsyncCluster(directory=directory, **more)
    cluster.enforce(settings)
    async with cluster:
        yield cluster


def plugins_hooks(choices: list[Any]) -> tuple[RpcHook, ...]:
    return PluginManager().create_all("rpc_hook", choices)


@asynccontextmanager
async def talking(*hooks: RpcHook) -> AsyncIterator[Client]:
    """A client that sends whatever it is told to."""
    client = Client(SystemClock(), rpc_hooks=hooks)
    try:
        yield client
    finally:
        await client.close()


def signing(user: str, secret: str = "secret") -> Any:
    """`talking` as `user`."""
    return talking(*plugins_hooks(keys(user, secret)))


def bare(code: int) -> Request:
    """A request of any code, without fields."""
    kind: Any = type("Bare", (Request,), {})
    kind.CODE = code
    return kind()  # type: ignore[no-any-return]


def sending(topic: str, properties: str = "", **more: Any) -> SendMessage:
    """A send to the first queue of `topic`. `properties`: pairs as "NAME=value;NAME=value"."""
    packed = "".join(f"{name}\x01{value}\x02" for name, _, value in _pairs(properties))
    return SendMessage("p", topic, "TBW102", 4, 0, 0, 0, 0, packed, **more)


def _pairs(text: str) -> list[tuple[str, str, str]]:
    return [each.partition("=") for each in text.split(";") if each]

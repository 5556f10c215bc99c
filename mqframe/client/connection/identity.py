"""The identity of a client: its id, its address, the process it was made in."""

from __future__ import annotations

import ipaddress
import os
import socket
import time
from collections.abc import Callable
from typing import Final

import attrs

from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.name_servers import parse_addresses
from mqframe.core.errors import ClosedError
from mqframe.hooks.client_parts import load_part
from mqframe.hooks.interfaces import RpcHook


def nameserver_text(settings: ClientSettings) -> str:
    """The name servers that `settings` name; else the variable NAMESRV_ADDR, as Java clients read it."""
    return settings.nameserver or os.environ.get("NAMESRV_ADDR", "")


def with_nameserver(client: ClientSettings | None, nameserver: str) -> ClientSettings:
    """`client` with `nameserver` in the place of its own, unless that is empty."""
    settings = client or ClientSettings()
    if not nameserver:
        return settings
    return attrs.evolve(settings, nameserver=nameserver)  # type: ignore[misc]


_NAMESPACES: Final = "namespaces"
BROADCASTING_INSTANCE: Final = "DEFAULT"
"""Instance name of broadcasting members that are given none, as in Apache RocketMQ. Two of one group on one
machine need names of their own."""


def consumer_client(client: ClientSettings | None, nameserver: str, *, broadcasting: bool) -> ClientSettings:
    """`client` of a consumer, as `with_nameserver`; a broadcasting one has an instance name."""
    settings = with_nameserver(client, nameserver)
    if not broadcasting or settings.instance_name:
        return settings
    # Local offsets lie under the client id, which must be the same after a restart.
    return attrs.evolve(settings, instance_name=BROADCASTING_INSTANCE)  # type: ignore[misc]


def wire_hooks(settings: ClientSettings, rpc_hooks: tuple[RpcHook, ...]) -> tuple[RpcHook, ...]:
    """`rpc_hooks`, and before them what puts the names of a client with a namespace into it on the wire.

    Raises `SettingError` for a bad namespace, `FixError` where what knows of them is not installed.
    """
    return (load_part(_NAMESPACES)(settings.namespace), *rpc_hooks) if settings.namespace else rpc_hooks


def wire_names(settings: ClientSettings) -> Callable[[str], str]:
    """Makes of the name of a topic or group what brokers, and files of the client, call it."""
    wired: Callable[[str], str] = str
    if settings.namespace:
        wired = load_part(_NAMESPACES)(settings.namespace).wrapped
    return wired


def local_ip(settings: ClientSettings) -> str:
    """The address of this machine as its name server would see it. Nothing is sent to find it."""
    if settings.client_ip:
        return settings.client_ip
    host, _, port = parse_addresses(nameserver_text(settings))[0].rpartition(":")
    try:
        kind = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            probe.connect((host.strip("[]"), int(port)))
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"


def packed_ip(ip: str) -> bytes:
    """`ip` as 4 or 16 bytes; what is no address counts as 127.0.0.1."""
    try:
        return ipaddress.ip_address(ip).packed
    except ValueError:
        return bytes((127, 0, 0, 1))


def own_instance() -> str:
    """The instance of a client that is given no name: pid#nanotime (ClientConfig.buildMQClientId)."""
    return f"{os.getpid()}#{time.monotonic_ns()}"


def client_id(settings: ClientSettings, ip: str) -> str:
    """`ip@instance[@unit]`; the instance is `own_instance` unless named."""
    instance = settings.instance_name or own_instance()
    return f"{ip}@{instance}" + (f"@{settings.unit_name}" if settings.unit_name else "")


class _Own:
    """This process: every send asks for it, and a system call would cost more than the question."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        if hasattr(os, "register_at_fork"):  # where it is missing, nothing forks
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.pid = os.getpid()


_own: Final = _Own()


class SameProcess:
    """Remembers the process that a client was started in; sockets and threads do not survive a fork."""

    __slots__ = ("_pid", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._pid = _own.pid

    def check(self) -> None:
        """Raise `ClosedError` in a process that forked after the client was made."""
        if _own.pid != self._pid:
            raise ClosedError(
                f"this {self._what} was made in process {self._pid} and cannot be used in {_own.pid}, "
                "which forked from it; make a new one after the fork"
            )

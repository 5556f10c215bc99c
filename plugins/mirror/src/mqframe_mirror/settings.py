"""What a mirror is told: the two clusters, what is copied between them, and how."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from mqframe import NetSettings
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError
from mqframe_mirror.rules.marks import is_cluster_name
from mqframe_mirror.rules.topics import SAME, TopicChoice

PARTS: Final = {"from": "source", "to": "target"}
"""Tables of a file, and what they are called here."""


class ClusterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of the two clusters, and how it is reached.

    `nameserver`: "host:port;host:port". `name`: what the mirror calls it, in marks and paths; by default what
    its brokers do. `access_key`, and `secret_variable`, the variable that has the secret: requests are signed
    so. `tls…`: as in the section `net` of clients.
    """

    nameserver: str
    name: str = ""
    access_key: str = ""
    secret_variable: str = ""
    tls: bool = False
    tls_verify: Literal["full", "chain", "none"] = "full"
    tls_ca_file: str = ""
    tls_cert_file: str = ""
    tls_key_file: str = ""

    def __post_init__(self) -> None:
        if not self.nameserver:
            raise ValueError("nameserver is empty; write it as host:port")
        if self.name and not is_cluster_name(self.name):
            raise ValueError(f"name {self.name!r}: letters, digits, - and _, at most 40")
        if bool(self.access_key) != bool(self.secret_variable):
            raise ValueError("access_key and secret_variable belong together")

    def client_arguments(self, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
        """Keyword arguments for clients; none where nothing was asked for. Raises `SettingError`."""
        arguments: dict[str, Any] = {}
        if self.access_key:
            secret = environment.get(self.secret_variable, "")
            if not secret:
                raise SettingError(f"secret_variable = {self.secret_variable!r}: that variable is not set")
            arguments["rpc_hooks"] = (("acl", {"access_key": self.access_key, "secret_key": secret}),)
        if self.tls:
            arguments["net"] = NetSettings(
                tls=True,
                tls_verify=self.tls_verify,
                tls_ca_file=self.tls_ca_file,
                tls_cert_file=self.tls_cert_file,
                tls_key_file=self.tls_key_file,
            )
        return arguments


class MirrorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mirror from the cluster `source` to the cluster `target`. Times are seconds, sizes bytes.

    `topics`, `exclude`: names, and patterns with "*". `groups`: consumer groups whose progress goes along, in
    the same way; none by default. `rename`: what a topic is called at the target. `start`: of a queue that
    was never copied all that is there ("first"), or what came since the mirror began for the first time
    ("last"). `refused`: a message that the target does not take holds its queue up ("stop"), or is left out
    and counted ("skip").

    `batch_messages`, `batch_bytes`: of one request to the target. `queues_at_once`: how many queues read, and
    send to one broker, at the same time, each at most a batch. `commit_seconds`: between two commits of
    progress. `groups_seconds`: between two looks at groups. `topics_seconds`: between two looks at topics and
    queues. `settle_seconds`: wait before it is looked whether a send arrived whose answer did not.
    `send_seconds`: longest wait for such an answer. `margin_seconds`: how much older progress a broker that
    was killed may come back with.
    """

    source: ClusterSettings = msgspec.field(name="from")
    target: ClusterSettings = msgspec.field(name="to")
    topics: list[str]
    exclude: list[str] = []
    groups: list[str] = []
    rename: str = SAME
    start: Literal["first", "last"] = "first"
    refused: Literal["stop", "skip"] = "stop"
    batch_messages: int = 512
    batch_bytes: int = 512 * 1024
    queues_at_once: int = 32
    commit_seconds: float = 5.0
    groups_seconds: float = 10.0
    topics_seconds: float = 10.0
    settle_seconds: float = 5.0
    send_seconds: float = 15.0
    margin_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("batch_messages", "batch_bytes", "queues_at_once"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: must be at least 1")
        for name in ("commit_seconds", "groups_seconds", "topics_seconds", "send_seconds"):
            if getattr(self, name) < 0.01:
                raise ValueError(f"{name} = {getattr(self, name)}: must be at least 0.01")
        for name in ("settle_seconds", "margin_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)}: must not be negative")

    @property
    def choice(self) -> TopicChoice:
        """Which topics are copied, and what they are called. Raises `SettingError`."""
        return TopicChoice(self.topics, self.exclude, self.rename)


def read_settings(text: str, source: str, given: Mapping[str, Any] | None = None) -> MirrorSettings:
    """The settings that TOML says, of the file `source`; what is `given` counts before it.

    `given`: fields as a file has them, "from" and "to" with tables. Raises `SettingError` that says where.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingError(f"{source} is no TOML: {problem}") from None
    for name, value in (given or {}).items():
        raw[name] = {**raw.get(name, {}), **value} if isinstance(value, dict) else value
    for name in PARTS:
        if not isinstance(raw.get(name, {}), dict):
            raise SettingError(f"{source}: {name} must be a table, [{name}]")
        if name not in raw:
            raise SettingError(f'{source}: no [{name}]; say which cluster by nameserver = "host:port"')
    try:
        made = msgspec.convert(raw, MirrorSettings)
    except msgspec.ValidationError as problem:
        raise SettingError(f"{source}: {problem}{_meant(raw)}") from None
    made.choice  # noqa: B018 - wrong names show at once
    return made


def _meant(raw: Mapping[str, Any]) -> str:
    """What a field was probably to be called that nobody knows."""
    tables: list[tuple[Mapping[str, Any], type[msgspec.Struct]]] = [(raw, MirrorSettings)]
    tables += [(raw[name], ClusterSettings) for name in PARTS]
    for table, kind in tables:
        for name in sorted(set(table) - set(kind.__struct_encode_fields__)):
            near = did_you_mean(name, kind.__struct_encode_fields__)
            return f"; {near}" if near else ""
    return ""

"""A group's keys in etcd, and what requests and answers about them look like (docs/spec/replication.md).

All values travel in base64, all 64-bit numbers as text, and what is zero or empty is left out.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from mqframe.hooks.interfaces import GroupPlace, Snapshot

Json = dict[str, Any]
LEAVES: Final = "replicas/"


def text(value: bytes) -> str:
    """`value` as it stands in JSON."""
    return b64encode(value).decode()


def number(message: Mapping[str, Any], name: str) -> int:
    """A 64-bit number of `message`; 0 when it is left out."""
    return int(message.get(name, 0))


def revision_of(answer: Mapping[str, Any]) -> int:
    """Of the store, when it gave `answer`."""
    return number(answer.get("header", {}), "revision")


class GroupKeys:
    """The keys of one group: `state`, `leader` and `replicas/<member>` below its own prefix.

    Names are percent-encoded, so that no group lies within another.
    """

    def __init__(self, prefix: str, place: GroupPlace) -> None:
        names = (quote(name, safe="") for name in (place.cluster, place.broker))
        self.prefix = "/".join((prefix, *names, "")).encode()
        self.state = self.prefix + b"state"
        self.leader = self.prefix + b"leader"
        self.replica = self.prefix + f"{LEAVES}{place.member}".encode()

    def all(self) -> Json:
        """A range: all keys of the group."""
        end = self.prefix[:-1] + bytes([self.prefix[-1] + 1])
        return {"key": text(self.prefix), "range_end": text(end)}

    def put(self, key: bytes, value: bytes, lease: int = 0) -> Json:
        """A put."""
        return {"key": text(key), "value": text(value), "lease": str(lease)}

    def has_version(self, version: int) -> Json:
        """Whether the state was last written at the revision `version`; 0: never."""
        compared = {"target": "MOD", "result": "EQUAL", "mod_revision": str(version)}
        return {"key": text(self.state), **compared}

    def has_no_leader(self) -> Json:
        """Whether there is no leader's key."""
        return {"key": text(self.leader), "target": "CREATE", "result": "EQUAL", "create_revision": "0"}

    def is_led_by(self, lease: int) -> list[Json]:
        """Whether the leader's key is there, and hangs on `lease`: to etcd a missing key hangs on lease 0."""
        key = {"key": text(self.leader)}
        return [
            {**key, "target": "CREATE", "result": "GREATER", "create_revision": "0"},
            {**key, "target": "LEASE", "result": "EQUAL", "lease": str(lease)},
        ]

    def snapshot(self, found: Iterable[Mapping[str, Any]]) -> Snapshot:
        """What the keys and values in `found` say; others than these are passed over."""
        snapshot, replicas = Snapshot(None, 0, None, {}), {}
        for each in found:
            key, value = b64decode(each["key"]), b64decode(each.get("value", ""))
            name = key.removeprefix(self.prefix).decode(errors="replace")
            member = name.removeprefix(LEAVES)
            if key == self.state:
                snapshot = snapshot._replace(state=value, version=number(each, "mod_revision"))
            elif key == self.leader:
                snapshot = snapshot._replace(leader=value)
            elif name.startswith(LEAVES) and member.isascii() and member.isdigit():
                replicas[int(member)] = value
        return snapshot._replace(replicas=replicas)


def transaction(compare: list[Json], *then: Json) -> Json:
    """Does `then` when all of `compare` holds, and nothing otherwise."""
    return {"compare": compare, "success": list(then), "failure": []}

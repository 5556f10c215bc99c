"""What keys of RocketMQ's files mean here, beyond the settings that name them: hints, and what is refused.

A key is *honoured* where a setting names it, else known *without effect*, with a hint where whoever wrote it
wants something that there is another way for. What asks for another kind of broker than this one is refused:
it must not start as if nothing were asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from posixpath import normpath
from typing import Final

from mqframe.core.config.dialect import Dialect
from mqframe.core.config.layers import Given
from mqframe_cli.settings.rocketmq_keys import JAVA_PROPERTIES, KEYS_BY_PART, ROCKETMQ_KEYS

RENAMED: Final[Mapping[str, str]] = {"haSlaveFallbehindMax": "haMaxGapNotInSync"}
"""Keys of 4.x by the names that they have now."""
OFF: Final = ("", "false")
ELECTED: Final = "ELECTED"
_IN_PLACE: Final = (
    f'For brokers that elect a leader write role = "{ELECTED}" below [replication] in place of it, or say'
    f" --set replication.role={ELECTED}"
)
_DLEDGER: Final = ("dLegerGroup", "dLegerPeers", "dLegerSelfId")
_SWITCH: Final = "enableDLegerCommitLog"
_CONTROLLER: Final = (
    "a name server is no controller here: brokers with replication.role = ELECTED agree by the coordination "
    "engine of the section election"
)
_NAMED: Final = "name servers are listed: namesrvAddr, or broker.nameservers"
_PLUGINS: Final = "access.authentication and access.authorization name plugins, which check requests"
_CONTAINER: Final = "start each broker of the container by itself: mqframe broker --config FILE"
_ROCKSDB: Final = (
    "what Apache's broker put into RocksDB stays there; let it deliver that before it is replaced"
)
HINTS: Final[Mapping[str, str]] = {
    "enableControllerInNamesrv": _CONTROLLER,
    "controllerDLegerGroup": _CONTROLLER,
    "controllerDLegerPeers": _CONTROLLER,
    "controllerDLegerSelfId": _CONTROLLER,
    "enableSlaveActingMaster": "no slave acts for its master here; replication.role = ELECTED replaces one",
    "isInBrokerContainer": _CONTAINER,
    "isBrokerContainer": _CONTAINER,
    "brokerConfigPaths": _CONTAINER,
    "fetchNamesrvAddrByAddressServer": _NAMED,
    "fetchNameSrvAddrByDnsLookup": _NAMED,
    "rmqAddressServerDomain": _NAMED,
    "brokerIP2": "slaves reach a master by the host that clients do: brokerIP1, or broker.advertise",
    "authenticationProvider": _PLUGINS,
    "authenticationStrategy": _PLUGINS,
    "authorizationProvider": _PLUGINS,
    "authorizationStrategy": _PLUGINS,
    "migrateAuthFromV1Enabled": "plain_acl.yml is not taken over; with aclEnable=true it goes on as it is",
    "messageStorePlugIn": "messages that a plugin has moved out of the store, as to tiers, are not served",
    "transRocksDBEnable": _ROCKSDB,
    "timerRocksDBEnable": _ROCKSDB,
    "popConsumerKVServiceEnable": _ROCKSDB,
}
"""What to do instead, where a key is switched on, or has a value."""
_OF_OTHERS: Final = {
    "client": "keys of Java's clients, which servers do not read; those of Python have sections of their own",
    "proxy": "keys of RocketMQ's proxy, of which there is none here",
}


class Meaning(Enum):
    """What a key that no setting names does."""

    WITHOUT_EFFECT = "without effect"
    HINT = "hint"
    REFUSED = "refused"


def meaning(key: str) -> Meaning | None:
    """What `key` does where no setting names it; `None`: there is no such key."""
    if key in REFUSED:
        return Meaning.REFUSED
    if key in HINTS or _part_of_others(key):
        return Meaning.HINT
    return Meaning.WITHOUT_EFFECT if key in ROCKETMQ_KEYS | JAVA_PROPERTIES else None


def warnings(given: Mapping[str, Given]) -> Iterator[str]:
    """For people, what becomes of the keys that were `given` and that no setting names."""
    plain, others, hinted = [], dict[str, list[str]](), dict[str, list[str]]()
    for key, each in sorted(given.items()):
        part = _part_of_others(key)
        if part:
            others.setdefault(_OF_OTHERS[part], []).append(key)
        elif key in HINTS and str(each.value).strip().lower() not in OFF:
            hinted.setdefault(HINTS[key], []).append(key)
        else:
            plain.append(key)
    if plain:
        yield f"known to RocketMQ but without effect here: {', '.join(plain)}"
    for what, keys in others.items():
        yield f"{what}: {', '.join(keys)}"
    for hint, keys in hinted.items():
        yield f"{', '.join(keys)} without effect: {hint}"


def refusal(given: Mapping[str, Given], sections: Iterable[str], role: str, moved: bool) -> str:
    """Why no server with `sections` may start with the keys that were `given`; "" where it may.

    `role`: of replication, as it was chosen; `moved`: somebody says besides the file where the store is.
    """
    sections = frozenset(sections)
    found = ""
    if sections & {"broker", "replication"} and role.upper() != ELECTED:
        found = _other_group(given)
    if "store" in sections and not found:
        found = _other_store(given, moved)
    return found


def _other_group(given: Mapping[str, Given]) -> str:
    asked = [key for key in (_SWITCH, *_DLEDGER) if key in given and _on(given[key])]
    if asked and _on(given.get(_SWITCH, given[asked[0]])):
        return (
            f"{asked[0]} from {given[asked[0]].origin} asks for a log that DLedger keeps, which mqframe has"
            f" not. {_IN_PLACE}; messages in a log of DLedger are not read"
        )
    mode = given.get("enableControllerMode")
    if mode is not None and _on(mode):
        return (
            f"enableControllerMode from {mode.origin} asks for RocketMQ's controller, which mqframe has not."
            f" {_IN_PLACE}, and give each broker a number, as --set replication.id=1"
        )
    return ""


def _other_store(given: Mapping[str, Given], moved: bool) -> str:
    kind = given.get("storeType")
    if kind is not None and "rocksdb" in str(kind.value).lower():
        return (
            f"storeType = {kind.value} from {kind.origin}: queues and tables in RocksDB are not read here."
            " Leave it out for a new store; beside an old one start a new broker, and drain that"
        )
    more = given.get("readOnlyCommitLogStorePaths")
    if more is not None and str(more.value).strip():
        return f"readOnlyCommitLogStorePaths from {more.origin}: a log in several folders is not read here"
    log, root = given.get("storePathCommitLog"), given.get("storePathRootDir")
    if log is None or root is None or moved or not str(log.value).strip():
        return ""
    place = f"{str(root.value).strip()}/commitlog"
    if normpath(str(log.value).strip()) == normpath(place):
        return ""
    return (
        f"storePathCommitLog = {log.value} from {log.origin}: the log of a store is in {place} here. Put a"
        " link there, or move the folder, and leave the key out"
    )


class RocketmqDialect(Dialect):
    """Keys of RocketMQ's `broker.conf` and `namesrv.conf`."""

    keys = ROCKETMQ_KEYS | JAVA_PROPERTIES
    renamed = RENAMED

    def refusal(self, given: Mapping[str, Given], sections: Iterable[str], role: str, moved: bool) -> str:
        """Why no server with `sections` may start with the keys that were `given`; "" where it may."""
        return refusal(given, sections, role, moved)

    def warnings(self, given: Mapping[str, Given]) -> Iterator[str]:
        """For people, what becomes of the keys that were `given` and that no setting names."""
        return warnings(given)


def _on(given: Given) -> bool:
    return str(given.value).strip().lower() not in OFF


def _part_of_others(key: str) -> str:
    """The part of RocketMQ that is no server here and alone has `key`; "" for none."""
    parts = [part for part, keys in KEYS_BY_PART.items() if key in keys]
    return parts[0] if parts and set(parts) <= _OF_OTHERS.keys() else ""


REFUSED: Final = frozenset(
    (
        _SWITCH,
        *_DLEDGER,
        "enableControllerMode",
        "storeType",
        "readOnlyCommitLogStorePaths",
        "storePathCommitLog",
    )
)
"""Keys of which some values stop a start."""
ROCKETMQ: Final = RocketmqDialect()

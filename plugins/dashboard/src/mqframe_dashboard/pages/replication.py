"""Replication: who leads, who follows and how far behind, what stands in the way, and the disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mqframe_admin.bodies import broker_load
from mqframe_admin.rules.replica import Replica

from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.requests.admin import GetBrokerHaStatus
from mqframe.core.requests.refusals import is_unserved
from mqframe.core.wire import loose_json
from mqframe_dashboard.alarms.rules import TROUBLES
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.curves import span_text
from mqframe_dashboard.query import Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Link, Note, Page, Part, TableView, link, time_text

PLUGIN: Final = "mqframe-plugin-replication"
COUNTED: Final = {
    "replicationMissing": "stretches of its log that it lacks",
    "replicationCuts": "times that its log was cut back",
}
"""Counters of slaves that are 0 while all is well."""


async def replication_page(asking: Asking, samples: Samples, query: Query) -> Page:
    """All brokers that keep logs together, those of one name after each other."""
    replicas = await asking.ask(asking.admin.replicas.list)
    now = int(asking.now() * 1000)
    counters = await asking.ask_each(
        asking.admin.brokers.runtime, dict.fromkeys(each.address for each in replicas if each.address)
    )
    masters = sorted({each.broker for each in replicas if each.broker_id == 0})
    seen = await _as_masters_see(asking, masters)
    nothing = "no broker is registered"
    about = Note(
        "A master tells where its slaves are, and slaves how much of its log they lack. "
        "mqframe replica changes roles; nothing is changed here."
    )
    parts: list[Part] = [
        about,
        *_not_installed(seen),
        TableView("Roles", [_role_row(each) for each in replicas], nothing),
        TableView("Logs", [_log_row(each, now) for each in replicas], nothing),
        TableView("Slaves, as their masters see them", _slave_rows(seen), "no slave is connected"),
        TableView(
            "What stands in the way",
            _trouble_rows(replicas, counters),
            "nothing, as far as brokers say; connections that a master refused are in its log",
        ),
        TableView("Disks", [_disk_row(each, counters.get(each.address)) for each in replicas], nothing),
    ]
    return Page("Replication", parts, live=True)


Seen = Mapping[str, HaRuntimeInfo | MqframeError]


async def _as_masters_see(asking: Asking, masters: Sequence[str]) -> Seen:
    async def ask(broker: str) -> HaRuntimeInfo:
        answer = await asking.admin.brokers.call(broker, GetBrokerHaStatus())
        return loose_json.decode(bytes(answer.body), HaRuntimeInfo)

    return await asking.ask_each(ask, masters)


def _not_installed(seen: Seen) -> list[Part]:
    without = [broker for broker, told in seen.items() if isinstance(told, AnswerError) and is_unserved(told)]
    if not without:
        return []
    return [
        Note(
            f"{', '.join(without)} cannot be copied: {PLUGIN} is not installed there, or is blocked. "
            f"Install it where the broker runs: pip install {PLUGIN}"
        )
    ]


def _name(replica: Replica) -> Link | str:
    number = str(replica.broker_id)
    return (
        link("broker", replica.broker, name=replica.broker, id=number) if replica.address else replica.broker
    )


def _who(replica: Replica) -> dict[str, Any]:
    return {"broker": _name(replica), "id": replica.broker_id}


def _role_row(replica: Replica) -> dict[str, Any]:
    return {
        **_who(replica),
        "role": replica.role or "not known",
        "state": state_of(replica),
        "epoch": "" if replica.epoch is None else replica.epoch,
        "address": replica.address or "not registered",
    }


def state_of(replica: Replica) -> str:
    """How a broker stands to those with the same log, in words."""
    if replica.trouble:
        return replica.trouble
    if replica.members is not None:
        return f"in sync: {', '.join(map(str, replica.members)) or 'nobody'}"
    if replica.slaves:
        return f"{replica.slaves} slave{'s' * (replica.slaves != 1)} connected, {replica.in_sync} in sync"
    if replica.slaves == 0:
        return "alone: no slave is connected"
    return f"follows {replica.master}" if replica.master else "does not say"


def _log_row(replica: Replica, now_ms: int) -> dict[str, Any]:
    return {
        **_who(replica),
        "behind_bytes": _or_empty(replica.behind_bytes),
        "behind": behind_text(replica, now_ms),
        "log_end": _or_empty(replica.log_end),
        "confirmed": _or_empty(replica.confirmed),
    }


def behind_text(replica: Replica, now_ms: int) -> str:
    """For how long a broker has lacked something of the log, in words; "" where it has nothing to lack."""
    if replica.behind_bytes is None:
        return ""
    if not replica.behind_bytes:
        return "0 s"
    since = replica.behind_since_ms
    return "not known" if since is None else span_text(now_ms - since)


def _slave_rows(seen: Seen) -> list[dict[str, Any]]:
    return [
        {
            "master": broker,
            "slave": each.addr,
            "in_sync": "yes" if each.in_sync else "no",
            "behind_bytes": each.diff,
            "has_up_to": each.slave_ack_offset,
            "is_sent_from": each.transfer_from_where,
            "bytes_per_s": each.transferred_byte_in_second,
        }
        for broker, told in seen.items()
        if isinstance(told, HaRuntimeInfo)
        for each in told.ha_connection_info
    ]


def _trouble_rows(
    replicas: Sequence[Replica], counters: Mapping[str, Mapping[str, str] | MqframeError]
) -> list[dict[str, Any]]:
    rows = []
    for each in replicas:
        told = counters.get(each.address, {})
        if isinstance(told, MqframeError):
            rows.append({**_who(each), "said": f"it does not answer: {told}"})
            continue
        said = [told[name] for name in TROUBLES if told.get(name)]
        said += [f"{told[name]} {what}" for name, what in COUNTED.items() if told.get(name, "0") != "0"]
        if each.trouble and each.trouble not in said:
            said.append(each.trouble)
        rows += [{**_who(each), "said": text} for text in said]
    return rows


def _disk_row(replica: Replica, told: Mapping[str, str] | MqframeError | None) -> dict[str, Any]:
    if told is None or isinstance(told, MqframeError):
        return {**_who(replica), "used": "not known", "capacity": "", "oldest_message": ""}
    oldest = told.get("earliestMessageTimeStamp", "")
    return {
        **_who(replica),
        "used": f"{broker_load(told).disk_percent:g}%" if told.get("commitLogDiskRatio") else "not known",
        "capacity": told.get("commitLogDirCapacity", "").rstrip("."),
        "oldest_message": time_text(int(oldest)) if oldest.isdecimal() else "",
    }


def _or_empty(number: int | None) -> int | str:
    return "" if number is None else number

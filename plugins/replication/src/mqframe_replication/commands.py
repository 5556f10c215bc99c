"""`mqframe replica`: masters, their slaves, and how far these are behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer
from mqframe_cli.extension import (
    Interval,
    Json,
    NameServer,
    admin_client,
    ask_first,
    new_app,
    show,
    show_one,
    watch,
)

from mqframe.core.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mqframe_admin.rules.replica import LeadHanded, Replica, RoleChanged

Wait = Annotated[
    float,
    typer.Option(help="How long the last messages may take to be in sync, else the leader goes on, s."),
]

app = new_app(help="Masters and slaves: who follows whom, and how far behind.")


@app.callback()
def _replica() -> None: ...


@app.command()
def status(
    broker: Annotated[str, typer.Argument(help="Name of a broker. [default: all]")] = "",
    follow: Annotated[bool, typer.Option("--watch", help="Show it again and again until Ctrl-C.")] = False,
    interval: Interval = 2.0,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Show each broker's role, the end of its log, and how far slaves are behind, in bytes and seconds.

    Of elected groups also the epoch, what is confirmed, who is in sync, and what keeps a broker from it.
    """
    with admin_client(nameserver) as admin:

        def look() -> list[dict[str, Any]]:
            return replica_rows(admin.replicas.list(broker or None), int(time.time() * 1000))

        if follow:
            watch(lambda: {"replicas": look()}, interval=interval, as_json=json)
        else:
            show(look(), as_json=json, empty="no broker is registered")


@app.command()
def demote(
    broker: Annotated[str, typer.Argument(help="Name of the broker whose master is to become a slave.")],
    number: Annotated[int, typer.Option("--id", min=1, help="The number that it has as a slave.")],
    wait: Annotated[float, typer.Option(help="How long slaves may take to get its last messages, s.")] = 30.0,
    tables: Annotated[
        float, typer.Option(help="How long to wait before, until slaves of RocketMQ have copied tables, s.")
    ] = 0.0,
    force: Annotated[bool, typer.Option("--force", help="Even if nobody has all of its messages.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Let a master become a slave: it takes no more messages, hands over the last ones, and changes its role.

    Shows which slaves have all of its log: one of them is to be promoted. No messages are taken until then.
    """
    with admin_client(nameserver) as admin:
        made = admin.replicas.demote(broker, number, wait_seconds=wait, tables_seconds=tables, force=force)
        _show_change(made, as_json=json)


@app.command()
def promote(
    broker: Annotated[str, typer.Argument(help="Name of the broker whose slave is to become master.")],
    number: Annotated[int, typer.Option("--id", min=1, help="Its number as a slave.")],
    sync: Annotated[bool, typer.Option("--sync", help="As SYNC_MASTER, not as ASYNC_MASTER.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also with a master there, or without all messages.")
    ] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Let a slave become the master, where there is none, or it was demoted.

    Refused where messages may be lost with it, and says how many bytes of the log.
    """
    role = "SYNC_MASTER" if sync else "ASYNC_MASTER"
    with admin_client(nameserver) as admin:
        _show_change(admin.replicas.promote(broker, number, role=role, force=force), as_json=json)


@app.command()
def elect(
    broker: Annotated[str, typer.Argument(help="Name of the group's brokers.")],
    number: Annotated[
        int | None, typer.Argument(help="Number of a follower that was not in sync.", metavar="ID")
    ] = None,
    to: Annotated[
        int | None, typer.Option("--to", min=1, help="Number of the broker in sync that is to lead.")
    ] = None,
    wait: Wait = 5.0,
    yes: Annotated[bool, typer.Option("--yes", help="Accept the loss without being asked.")] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Have a broker of an elected group lead: with --to one in sync, to which the leader hands over.

    Nothing that was acknowledged is lost by that; it is refused for brokers that are not in sync. Without
    --to ID is forced to lead, when all that were in sync are gone for good: what may be lost by it is shown,
    and asked for. That is refused while a leader is there, and where none is needed.
    """
    if (number is None) == (to is None):
        raise SettingError("say who is to lead: --to ID for one in sync, ID alone to force one that is not")
    with admin_client(nameserver) as admin:
        if to is not None:
            _show_handed(admin.replicas.hand_over(broker, to, wait_seconds=wait), as_json=json)
            return
        assert number is not None
        asked = admin.replicas.force_election(broker, number)
        if not yes:
            what = f"{broker} {number}"
            ask_first(f"{what}: {asked.loss}", f"Let {what} lead, and lose the rest?", "nothing was changed")
        made = admin.replicas.force_election(broker, number, accept_loss=True)
        show_one(
            {
                "broker": made.broker,
                "address": made.address,
                "epoch": made.epoch,
                "log_end": made.log_end,
                "confirmed": made.confirmed,
                "were_in_sync": list(made.members) if json else " ".join(map(str, made.members)),
            },
            as_json=json,
        )


@app.command()
def step_down(
    broker: Annotated[str, typer.Argument(help="Name of the group's brokers.")],
    wait: Wait = 5.0,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Have the leader of an elected group hand its lead to another broker in sync, whichever can take it."""
    with admin_client(nameserver) as admin:
        _show_handed(admin.replicas.hand_over(broker, wait_seconds=wait), as_json=json)


def _show_handed(made: LeadHanded, *, as_json: bool) -> None:
    show_one(attrs.asdict(made), as_json=as_json)


def _show_change(made: RoleChanged, *, as_json: bool) -> None:
    row: dict[str, Any] = {
        "broker": made.broker,
        "address": made.address,
        "role": made.role,
        "log_end": made.log_end,
    }
    if made.role == "SLAVE":
        row["ready"] = list(made.ready) if as_json else " ".join(map(str, made.ready))
    row["overruled"] = list(made.objections) if as_json else "; ".join(made.objections)
    show_one(row, as_json=as_json)


@app.command()
def cut(
    data: Annotated[Path, typer.Option("--data", help="The stopped slave's store, in which commitlog lies.")],
    master: Annotated[str, typer.Option("--master", help="host:port of the master to follow.")],
    json: Json = False,
) -> None:
    """Cut the log of a stopped slave back to the last record that its master has, too.

    What is cut off is kept in the folder cut of the store. In the roles that are set by hand nobody knows
    what was acknowledged: look at the file before you delete it.
    """
    from mqframe_cli.settings.run_plugins import plugin_manager
    from mqframe_cli.stopped_store import known_store, refuse_in_use

    from mqframe.core.errors import StoreError
    from mqframe_replication.rules.last_common import last_common
    from mqframe_replication.store.closed_log import ClosedLog
    from mqframe_replication.store.cutting import cut_log

    layout = known_store(data)
    refuse_in_use(layout)
    # No name server is asked for anything.
    with admin_client(master) as admin, ClosedLog(layout) as log:
        low, _ = admin.replicas.log_range(master)
        search = last_common(log, low)
        try:
            offset = next(search)
            while True:
                offset = search.send(admin.replicas.stored_record(master, offset))
        except StopIteration as found:
            end = found.value
    if end is None:
        raise StoreError(
            f"the log in {layout.commit_log} has no record in common with that of {master}, which begins at"
            f" {low}: nothing was cut. Start this slave with an empty folder"
        )
    services, why = plugin_manager().cut_backs(), f"it differed from {master}"
    made = cut_log(layout.root, end, services, why=why, now_ms=int(time.time() * 1000))
    kept = str(layout.cut / made.file) if made.file else ""
    shown = {"from": made.start, "to": made.end, "records": made.records, "file": kept}
    show_one(shown, as_json=json)


def replica_rows(replicas: Iterable[Replica], now_ms: int) -> list[dict[str, Any]]:
    """A row for each of `replicas`, at `now_ms`."""
    return [
        {
            "broker": each.broker,
            "id": each.broker_id,
            "role": each.role,
            "address": each.address,
            "epoch": each.epoch,
            "log_end": each.log_end,
            "confirmed": each.confirmed,
            "behind_bytes": each.behind_bytes,
            "behind_s": _seconds(each, now_ms),
            "state": _state(each),
        }
        for each in replicas
    ]


def _seconds(replica: Replica, now_ms: int) -> float | None:
    if not replica.behind_bytes:
        return None if replica.behind_bytes is None else 0.0
    since = replica.behind_since_ms
    return None if since is None else round(max(0, now_ms - since) / 1000, 1)


def _state(replica: Replica) -> str:
    if replica.trouble:
        return replica.trouble
    if replica.members is not None:
        return f"in sync: {' '.join(map(str, replica.members))}"
    if replica.slaves is not None:
        if not replica.slaves:
            return "no slave is connected"
        return f"{replica.slaves} slave{'s' * (replica.slaves != 1)}, {replica.in_sync} in sync"
    return "" if replica.master is None else f"follows {replica.master}"

"""The commands of `mqframe quota`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_cli.extension import Json, NameServer, access, new_app, show, show_one

from mqframe_quotas.admin import QuotasAdmin
from mqframe_quotas.rules.limits import Quota

if TYPE_CHECKING:
    from mqframe import Admin

app = new_app(help="What users, addresses, topics and groups may have: set, list, show, delete quotas.")
Kind = Annotated[str, typer.Argument(help="user, address, topic or group.")]
Name = Annotated[str, typer.Argument(help="Whose it is; * for all of the kind that have none of their own.")]
Broker = Annotated[str | None, typer.Option(help="One broker; by default all.")]


@app.command("set")
def set_quota(
    kind: Kind,
    name: Name,
    send_bytes: Annotated[int, typer.Option(help="Bytes of bodies sent a second; 0: no limit.")] = 0,
    send_messages: Annotated[int, typer.Option(help="Messages sent a second; 0: no limit.")] = 0,
    read_bytes: Annotated[int, typer.Option(help="Bytes pulled or popped a second; 0: no limit.")] = 0,
    read_messages: Annotated[int, typer.Option(help="Messages pulled or popped a second; 0: no limit.")] = 0,
    connections: Annotated[int, typer.Option(help="Connections at once; 0: no limit.")] = 0,
    in_flight: Annotated[int, typer.Option(help="Sends that wait for answers; 0: no limit.")] = 0,
    broker: Broker = None,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Set a quota, in place of the one that was set for the same."""
    quota = Quota(
        kind=kind,
        name=name,
        send_bytes=send_bytes,
        send_messages=send_messages,
        read_bytes=read_bytes,
        read_messages=read_messages,
        connections=connections,
        in_flight=in_flight,
    )
    with _admin(nameserver) as admin:
        QuotasAdmin(admin, broker=broker).set(quota)
    show_one({"kind": kind, "name": name, **quota.limits}, as_json=json)


@app.command("list")
def list_quotas(broker: Broker = None, nameserver: NameServer = "", json: Json = False) -> None:
    """List the quotas in force, with what was used of them since each broker started."""
    with _admin(nameserver) as admin:
        states = QuotasAdmin(admin, broker=broker).list()
    rows = [row for state in states for row in state.rows()]
    show(rows, as_json=json, empty="there is no quota yet")


@app.command("show")
def show_quota(
    kind: Kind, name: Name, broker: Broker = None, nameserver: NameServer = "", json: Json = False
) -> None:
    """Show what one may have, and how much of that at this moment; what is owed is negative."""
    with _admin(nameserver) as admin:
        found = QuotasAdmin(admin, broker=broker).show(kind, name)
    rows: list[dict[str, Any]] = [
        {
            "broker": each.broker,
            "quota": f"{each.quota.kind}:{each.quota.name}",
            "limit": limit,
            "most": most,
            "left": each.left.get(limit, 0),
        }
        for each in found
        if each.quota is not None
        for limit, most in each.quota.limits.items()
    ]
    show(rows, as_json=json, empty=f"{kind} {name} is not limited")


@app.command()
def delete(
    kind: Kind, name: Name, broker: Broker = None, nameserver: NameServer = "", json: Json = False
) -> None:
    """Delete a quota that was set; what the settings say for the same is in force again then."""
    with _admin(nameserver) as admin:
        QuotasAdmin(admin, broker=broker).delete(kind, name)
    show_one({"kind": kind, "name": name, "deleted": True}, as_json=json)


def _admin(nameserver: str) -> Admin:
    # Imported when a command runs: help needs no client.
    from mqframe import Admin

    return Admin(nameserver=nameserver, **access())

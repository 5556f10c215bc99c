"""`mqframe user`: who may send requests to servers that ask, and what for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import admin_command
from mqframe_cli.commands import new_app
from mqframe_cli.output import Shown

if TYPE_CHECKING:
    from mqframe import Admin

app = new_app(help="Users of servers that check who asks, and what they may do.")
User = Annotated[str, typer.Argument(help="Name of the user, its access key.")]
Resources = Annotated[
    list[str], typer.Argument(help='"Topic:orders", "Topic:ord*", "Group:*", "Cluster:*", or "*".')
]
Actions = Annotated[
    list[str] | None,
    typer.Option(
        "--action", help="Pub, Sub, Create, Update, Delete, Get, List; several times. [default: All]"
    ),
]
Sources = Annotated[
    list[str] | None, typer.Option("--from", help="Address or network that this is for; several times.")
]
SecretFile = Annotated[
    Path | None, typer.Option(help="File that holds the secret; -: standard input. [default: ask for it]")
]
Server = Annotated[
    str, typer.Option(help="host:port of the one server that this is for. [default: all masters]")
]
STANDARD_INPUT: Final = Path("-")


@admin_command(app, "list", empty="there is no user")
def list_users(admin: Admin, server: Server = "") -> Shown:
    """List users; their secrets are not shown."""
    return [
        {"user": each.username, "type": each.user_type, "status": each.user_status}
        for each in admin.users.list(server=server)
    ]


@admin_command(app)
def create(
    admin: Admin,
    user: User,
    secret_file: SecretFile = None,
    everything: Annotated[
        bool, typer.Option("--super", help="It may do everything, whatever policies say.")
    ] = False,
    server: Server = "",
) -> Shown:
    """Make a user."""
    admin.users.create(user, _secret(secret_file), everything=everything, server=server)
    return {"user": user, "created": True}


@admin_command(app)
def secret(admin: Admin, user: User, secret_file: SecretFile = None, server: Server = "") -> Shown:
    """Give a user another secret."""
    admin.users.update(user, secret=_secret(secret_file), server=server)
    return {"user": user, "changed": True}


@admin_command(app)
def enable(admin: Admin, user: User, server: Server = "") -> Shown:
    """Let a user in again."""
    admin.users.update(user, enabled=True, server=server)
    return {"user": user, "enabled": True}


@admin_command(app)
def disable(admin: Admin, user: User, server: Server = "") -> Shown:
    """Let a user in no more."""
    admin.users.update(user, enabled=False, server=server)
    return {"user": user, "enabled": False}


@admin_command(app)
def delete(admin: Admin, user: User, server: Server = "") -> Shown:
    """Delete a user, with all policies."""
    admin.users.delete(user, server=server)
    return {"user": user, "deleted": True}


@admin_command(app)
def allow(
    admin: Admin,
    user: User,
    resources: Resources,
    actions: Actions = None,
    sources: Sources = None,
    server: Server = "",
) -> Shown:
    """Let a user do something with resources, in the place of what was said of them."""
    admin.policies.set(user, resources, actions=actions or ["All"], sources=sources or [], server=server)
    return _policies(admin, user, server)


@admin_command(app)
def deny(
    admin: Admin,
    user: User,
    resources: Resources,
    actions: Actions = None,
    sources: Sources = None,
    server: Server = "",
) -> Shown:
    """Do not let a user do something with resources, in the place of what was said of them."""
    admin.policies.set(
        user, resources, actions=actions or ["All"], allow=False, sources=sources or [], server=server
    )
    return _policies(admin, user, server)


@admin_command(app, empty="there is no policy")
def policies(
    admin: Admin,
    user: Annotated[str, typer.Argument(help="What the name begins with.")] = "",
    server: Server = "",
) -> Shown:
    """List what users may do."""
    return _policies(admin, user, server)


@admin_command(app)
def forget(
    admin: Admin,
    user: User,
    resource: Annotated[str, typer.Argument(help="As in the list. [default: all of them]")] = "",
    server: Server = "",
) -> Shown:
    """Take back what was said of a resource."""
    admin.policies.delete(user, resource or None, server=server)
    return {"user": user, "resource": resource or "*", "forgotten": True}


def _policies(admin: Admin, user: str, server: str) -> Shown:
    return [
        {
            "user": (acl.subject or "").removeprefix("User:"),
            "resource": entry.resource,
            "decision": entry.decision,
            "actions": ",".join(entry.actions or ()),
            "from": ",".join(entry.source_ips or ()),
            "type": policy.policy_type,
        }
        for acl in admin.policies.list(user, server=server)
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    ]


def _secret(file: Path | None) -> str:
    """The secret; never from the command line, which others can read."""
    if file is None:
        return str(typer.prompt("Secret", hide_input=True, confirmation_prompt=True))
    try:
        raw = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
        return raw.decode().strip()
    except (OSError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or "it is no text"
        raise SettingError(f"--secret-file {file} cannot be read: {said}") from None

"""Which cluster a command means: --nameserver, --context, NAMESRV_ADDR, mqframe.toml, the context in use."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import typer

from mqframe.core.errors import SettingError

NAME_SERVER_OPTIONS: Final = frozenset({"--nameserver", "--namesrvAddr"})
_NAMED: Final = "mqframe_cli.contexts.named"
"""In `meta` of a command's context: what --context said."""


class ChosenCluster(NamedTuple):
    """The cluster that a command means.

    `nameserver`: "host:port;host:port", or "" when nobody said; `origin`: who said; `context`: its name,
    or ""; `settings`: those of the context, by path.
    """

    nameserver: str = ""
    origin: str = "nowhere"
    context: str = ""
    settings: Mapping[str, str] = MappingProxyType({})


_CLUSTER: ContextVar[ChosenCluster | None] = ContextVar("cluster of this command", default=None)


def chosen_cluster() -> ChosenCluster:
    """The cluster of the command that runs."""
    return _CLUSTER.get() or ChosenCluster()


def need_cluster() -> ChosenCluster:
    """As `chosen_cluster`. Raises `SettingError` where a command runs and nobody said which it means."""
    cluster = _CLUSTER.get()
    if cluster is not None and not cluster.nameserver:
        raise SettingError(
            "no name server: add --nameserver HOST:PORT, set NAMESRV_ADDR (as 127.0.0.1:9876), or name the"
            " cluster once with mqframe context add NAME HOST:PORT --use"
        )
    return cluster or ChosenCluster()


def forget_cluster() -> None:
    """To be called when a command is done."""
    _CLUSTER.set(None)


def name_servers(ctx: typer.Context, param: typer.CallbackParam, value: str) -> str:
    """The name servers of a command; callback of `--nameserver`. Raises `SettingError`."""
    return value if ctx.resilient_parsing else choose_cluster(ctx, str(param.name), value)


def choose_cluster(ctx: typer.Context, parameter: str, value: str) -> str:
    """As `name_servers`, for a command that only sometimes needs a cluster: it calls this then.

    `parameter`: that `--nameserver` was given by, with `value`.
    """
    source = ctx.get_parameter_source(parameter)
    typed = source is not None and source.name == "COMMANDLINE"
    cluster = _choose(value or "", ctx.meta.get(_NAMED, ""), typed=typed)
    _CLUSTER.set(cluster)
    return cluster.nameserver


def name_context(ctx: typer.Context, value: str | None) -> None:
    """Remember what `--context` said."""
    if value:
        ctx.meta[_NAMED] = value


def offer_contexts(command: Any) -> None:
    """Give `command`, and all below it, an option `--context` wherever there is one for name servers."""
    for child in getattr(command, "commands", {}).values():
        offer_contexts(child)
    for at, param in enumerate(command.params):
        if NAME_SERVER_OPTIONS.intersection(param.opts):
            command.params.insert(at + 1, _context_option())
            return


def _context_option() -> Any:
    """Made by Typer out of a command with nothing else: what an option's class takes is its own affair."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_in_context)
    return next(param for param in typer.main.get_command(app).params if "--context" in param.opts)


def _in_context(
    context: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            expose_value=False,
            is_eager=True,  # before the callback of the name servers
            callback=name_context,
            help="The cluster of this context (mqframe context list).",
        ),
    ] = "",
) -> None:
    """What `--context` of a command is made from; never run."""


def _choose(given: str, named: str, *, typed: bool) -> ChosenCluster:
    if typed and named:
        raise SettingError("--nameserver and --context both say which cluster; leave one out")
    if typed and given:
        return ChosenCluster(given, "--nameserver")
    from mqframe_cli.contexts.file import contexts_path, read_contexts
    from mqframe_cli.contexts.programs import cluster_of_programs

    if not named and (found_here := cluster_of_programs()):
        return ChosenCluster(*found_here)

    contexts = read_contexts(contexts_path())
    name = named or contexts.current
    if not name:
        return ChosenCluster()
    found = contexts.named(name)
    origin = f"--context {name}" if named else f"context {name}"
    return ChosenCluster(found.nameserver, origin, name, found.settings)

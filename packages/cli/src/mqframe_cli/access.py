"""How commands that are clients reach servers: what the environment says of connections and of signing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import typer

from mqframe_cli.contexts.chosen import ChosenCluster, need_cluster
from mqframe_cli.names.known import check_known
from mqframe_cli.output import Json, NameServer, Shown, show, show_one
from mqframe_cli.settings.run_plugins import plugin_manager

if TYPE_CHECKING:
    from mqframe import Admin

HEEDED: Final = ("MQFRAME_NET_", "MQFRAME_PLUGINS_", "MQFRAME_CLIENT_", "MQFRAME_ADMIN_")
"""How the variables begin that make commands other clients."""


def admin_client(nameserver: str) -> Admin:
    """The administration client of a command. Raises `SettingError`."""
    # Imported when a command runs: help and completion need no client.
    from mqframe import Admin

    return Admin(nameserver=nameserver, **access())


def admin_command(
    app: typer.Typer,
    name: str | None = None,
    *,
    empty: str = "nothing found",
    known: Collection[str] = ("topic", "group"),
    nameserver: Any = NameServer,
) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Decorator: make a command of `app`, with `--nameserver` and `--json` behind the options of its own.

    It is called with an `Admin` and these options, and returns what is shown. `empty`: what is said of no
    rows at all; options may stand in it, in braces. `known`: which of "topic" and "group" have to name
    what there is. `nameserver`: the option for name servers.
    """

    def enter(work: Callable[..., Shown]) -> Callable[..., Shown]:
        def command(nameserver: str, json: bool, **options: Any) -> None:
            with admin_client(nameserver) as admin:
                check_known(admin, **{name: options[name] for name in known if options.get(name)})
                found = work(admin, **options)
            if isinstance(found, Mapping):
                show_one(found, as_json=json)
            else:
                show(found, as_json=json, empty=empty.format_map(options))

        # The client's class is not imported for its name in an annotation.
        types = get_type_hints(work, localns={"Admin": object}, include_extras=True)
        parameters = [*list(signature(work).parameters.values())[1:], *_shared(nameserver)]
        command.__signature__ = Signature(  # type: ignore[attr-defined]
            [each.replace(annotation=types.get(each.name, each.annotation)) for each in parameters]
        )
        command.__name__, command.__doc__ = work.__name__, work.__doc__
        app.command(name)(command)
        return work

    return enter


def _shared(nameserver: Any) -> list[Parameter]:
    return [
        Parameter("nameserver", Parameter.KEYWORD_ONLY, default="", annotation=nameserver),
        Parameter("json", Parameter.KEYWORD_ONLY, default=False, annotation=Json),
    ]


def access() -> dict[str, Any]:
    """Keyword arguments for any client: `plugins`, and what environment, file and context ask for.

    The file is mqframe.toml in the working folder, from which programs there make their clients; it counts
    unless the cluster is one of a context, which has settings of its own. Of both and of the environment
    count the sections `net`, `plugins` and `client`, but for what a client is called and its namespace, and
    the RPC hooks of `admin`. An RPC hook that has options there, such as the keys that it signs requests
    with, is used. They are not taken from options, because what is written on a command line can be read by
    all users of the machine. Raises `SettingError`, also where a command runs and nobody says which cluster
    it means.
    """
    return client_settings(need_cluster())


def client_settings(cluster: ChosenCluster) -> dict[str, Any]:
    """As `access`, for `cluster`. What the environment says goes before its settings."""
    from mqframe_cli.settings.configuration import file_here, load

    plugins = plugin_manager()
    arguments: dict[str, Any] = {"plugins": plugins}
    file = None if cluster.context else file_here()
    if file is None and not cluster.settings and not any(name.startswith(HEEDED) for name in os.environ):
        return arguments
    import attrs

    from mqframe.client.configuration.sections import AdminSection, ClientSection
    from mqframe.core.config.layers import Given, Layer, Rank
    from mqframe.hooks.catalog import table_key
    from mqframe.net.settings import NetSettings

    given = (Given(path, value, cluster.origin) for path, value in cluster.settings.items())
    resolved = load("client", {}, file, (), layers=[Layer(Rank.TOML, tuple(given))])
    said: Any = resolved.section(ClientSection)
    # The cluster is chosen already, and no command may be taken for the program that has the file.
    # Names are said as brokers have them.
    client = attrs.evolve(said, nameserver="", instance_name="", namespace="", rpc_hooks=())
    if client != ClientSection():
        arguments["client"] = client
    arguments["net"] = resolved.section(NetSettings)
    arguments["plugins"] = plugins.configured(resolved.plugins("admin"))
    own = resolved.section(AdminSection).rpc_hooks
    named = said.rpc_hooks if own is None else own
    with_options = [name for name in resolved.plugins("admin") if plugins.knows("rpc_hook", name)]
    tables = {table_key(name) for name in named}
    hooks = [*named, *(name for name in with_options if table_key(name) not in tables)]
    if hooks:
        arguments["rpc_hooks"] = hooks
    return arguments

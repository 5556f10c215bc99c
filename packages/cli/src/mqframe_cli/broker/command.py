"""`mqframe broker`: runs a broker; `mqframe broker drain` empties one that runs."""

from __future__ import annotations

import time
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from mqframe.core.errors import RetryError, SettingError
from mqframe_cli.access import admin_command
from mqframe_cli.output import Shown
from mqframe_cli.server import broker as run_broker

if TYPE_CHECKING:
    from mqframe_admin.rules.broker_drain import BrokerDrain

    from mqframe import Admin

_LOOK_SECONDS: Final = 1.0

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True
)


def _run(ctx: typer.Context, **options: Any) -> None:
    if ctx.invoked_subcommand is None:
        run_broker(**options)


def _with_options_of_broker() -> None:
    types = get_type_hints(run_broker, include_extras=True)
    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    options = [
        each.replace(annotation=types[each.name]) for each in signature(run_broker).parameters.values()
    ]
    _run.__signature__ = Signature([context, *options])  # type: ignore[attr-defined]
    _run.__doc__ = run_broker.__doc__
    app.callback()(_run)


_with_options_of_broker()


@admin_command(app)
def drain(
    admin: Admin,
    name: Annotated[str, typer.Argument(help="Name of the broker.")],
    undo: Annotated[bool, typer.Option("--undo", help="Let it take messages again.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Change nothing, show what is left.")] = False,
    wait: Annotated[
        float | None, typer.Option(help="Wait until it may go, at most so long, s. [default: do not wait]")
    ] = None,
) -> Shown:
    """Have a broker take no new messages, until all that it has is consumed and it may go.

    Producers go elsewhere; delayed messages, open transactions and retries still come. It lasts over restarts
    of the broker. Shows what is left: by group, waiting for its time, half, in flight.
    """
    if undo and (status or wait is not None):
        raise SettingError("--undo lets the broker take messages again: leave out --status and --wait")
    if undo:
        return _shown(admin.brokers.undrain(name))
    found = admin.brokers.drained(name) if status else admin.brokers.drain(name)
    if wait is not None:
        end = time.monotonic() + wait
        while not found.may_go:
            if time.monotonic() >= end:
                raise RetryError(f"broker {name} may not go yet: {'; '.join(found.waits_for)}")
            time.sleep(_LOOK_SECONDS)
            found = admin.brokers.drained(name)
    return _shown(found)


def _shown(found: BrokerDrain) -> Shown:
    return {
        "broker": found.broker,
        "address": found.address,
        "draining": found.draining,
        "unconsumed": sum(found.unconsumed.values()),
        "delayed": found.delayed,
        "half": found.half,
        "in_flight": found.in_flight,
        "may_go": found.may_go,
        "waits_for": "; ".join(found.waits_for),
    }

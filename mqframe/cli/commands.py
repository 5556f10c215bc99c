"""The group of all commands: imports what is asked for and nothing else, and turns errors into exit codes.

Exit codes: 0 done; 1 failed for good (or, of `quickstart`, something did not agree); 2 wrong usage, setting,
message or permission: change it first; 3 failed now, may work later; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperGroup

from mqframe.cli.built_in import COMMANDS
from mqframe.core.errors import FixError, MqframeError, PluginError, RetryError

if TYPE_CHECKING:
    from mqframe.hooks.manager import PluginManager

OK: Final = 0
FAILED: Final = 1
WRONG: Final = 2
RETRY: Final = 3


_RUN: ContextVar[PluginManager] = ContextVar("plugins of this run")


def plugin_manager() -> PluginManager:
    """The one manager of the command that runs; outside of one a new manager."""
    from mqframe.hooks.manager import PluginManager

    return _RUN.get(None) or PluginManager()


def exit_code(problem: MqframeError) -> int:
    """The exit code that tells a script what to do about `problem`."""
    if isinstance(problem, RetryError):
        return RETRY
    return WRONG if isinstance(problem, FixError) else FAILED


def report(problem: MqframeError, *, as_json: bool) -> None:
    """Write `problem` to standard error, for people or as one JSON object."""
    text = str(problem)
    if as_json:
        error = {"error": type(problem).__name__, "message": text, "retry": isinstance(problem, RetryError)}
        text = json.dumps(error, ensure_ascii=False)
        sys.stderr.write(f"{text}\n")
    else:
        sys.stderr.write(f"mqframe: {text}\n")


def new_app(**arguments: Any) -> typer.Typer:
    """A Typer application as all of this command line: plain help, plain tracebacks, quick to import."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        **arguments,
    )


class Commands(TyperGroup):
    """All commands, of this distribution and of plugins."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the documentation, those of plugins after them."""
        names = _plugins(ctx).names("command")
        return [name for name in COMMANDS if name in names] + [name for name in names if name not in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command called `cmd_name`, imported now; `None` when there is none."""
        plugins = _plugins(ctx)
        if cmd_name not in plugins.names("command"):
            return None
        try:
            return _click_command(plugins.create("command", cmd_name), cmd_name)
        except PluginError as problem:
            if ctx.resilient_parsing or "--help" in sys.argv[1:2]:
                return None  # a broken plugin must not hide the help of the others
            report(problem, as_json=False)
            raise typer.Exit(exit_code(problem)) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of the library becomes one line and an exit code."""
        as_json = "--json" in ctx.args
        run = _RUN.set(_plugins(ctx))
        try:
            return super().invoke(ctx)
        except MqframeError as problem:
            report(problem, as_json=as_json)
            raise typer.Exit(exit_code(problem)) from None
        finally:
            _RUN.reset(run)


def _plugins(ctx: Any) -> PluginManager:
    """The manager that the program was run with as `obj`; made here when there was none."""
    from mqframe.hooks.manager import PluginManager

    found: PluginManager = ctx.find_root().ensure_object(PluginManager)
    return found


def _click_command(found: Any, name: str) -> Any:
    if not isinstance(found, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(name)(found)
        found = app
    made = typer.main.get_command(found)
    made.name = name
    return made

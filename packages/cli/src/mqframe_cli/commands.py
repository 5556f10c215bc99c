"""The group of all commands: imports what is asked for and nothing else, and turns errors into exit codes.

Exit codes: 0 done; 1 failed for good (or, of `quickstart`, something did not agree); 2 wrong usage, setting,
message or permission: change it first; 3 failed now, may work later; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from mqframe.core.errors import FixError, MqframeError, PluginError, RetryError
from mqframe.core.printable import printable
from mqframe_cli.built_in import COMMANDS
from mqframe_cli.contexts.chosen import forget_cluster, offer_contexts
from mqframe_cli.settings.run_plugins import PLUGINS_OF_RUN
from mqframe_cli.text.json_text import printable_json

if TYPE_CHECKING:
    from mqframe.hooks.manager import PluginManager

OK: Final = 0
FAILED: Final = 1
WRONG: Final = 2
RETRY: Final = 3
UsageError: Final[Any] = typer.BadParameter.__base__
"""What Typer raises for words that it cannot make a command of; it has no public name for it."""


def exit_code(problem: MqframeError) -> int:
    """The exit code that tells a script what to do about `problem`."""
    if isinstance(problem, RetryError):
        return RETRY
    return WRONG if isinstance(problem, FixError) else FAILED


def report(problem: MqframeError, *, as_json: bool) -> None:
    """Write `problem` to standard error, for people or as one JSON object."""
    _report(type(problem).__name__, str(problem), retry=isinstance(problem, RetryError), as_json=as_json)


def report_usage(problem: Any, *, as_json: bool) -> None:
    """Write what is wrong with the words of a command, a Typer `UsageError`, and where its help is."""
    text = problem.format_message()
    if problem.ctx is not None and not as_json:
        text += f"\nTry: {problem.ctx.command_path} --help"
    _report("UsageError", text, retry=False, as_json=as_json)


def _report(kind: str, text: str, *, retry: bool, as_json: bool) -> None:
    """At most two lines."""
    if as_json:
        error = {"error": kind, "message": text, "retry": retry}
        sys.stderr.write(f"{printable_json(json.dumps(error, ensure_ascii=False))}\n")
        return
    first, *others = filter(None, map(str.strip, text.splitlines()))
    sys.stderr.write(f"mqframe: {printable(first)}\n")
    if others:
        sys.stderr.write(f"{printable(' '.join(others))}\n")


def new_app(*, completion: bool = False, **arguments: Any) -> typer.Typer:
    """A Typer application as all of this command line: plain help, plain tracebacks, quick to import.

    `completion`: it can be completed by shells.
    """
    return typer.Typer(
        add_completion=completion,
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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands; those whose help is told beside them are not imported for that."""
        _Listed(self).format_commands(ctx, formatter)

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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` begin with; for a misspelt one an error that says what was meant."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError as problem:
            from mqframe.core.config.suggestions import did_you_mean
            from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
            from mqframe.hooks.names import install_line

            missing = KNOWN_DISTRIBUTIONS.get(("command", args[0]))
            if missing is not None:
                problem.message += f" Install it with: {install_line(missing)}"
                raise
            near = did_you_mean(args[0], self.list_commands(ctx))
            problem.message += f" {near.capitalize()}" if near else ""
            raise

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """As Typer's; wrong options in front of the command are told as all else."""
        try:
            return super().make_context(*arguments, **more)
        except UsageError as problem:
            return _refuse(problem, as_json=False)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of the library becomes one line and an exit code."""
        as_json = "--json" in ctx.args
        run = PLUGINS_OF_RUN.set(_plugins(ctx))
        try:
            return super().invoke(ctx)
        except MqframeError as problem:
            report(problem, as_json=as_json)
            raise typer.Exit(exit_code(problem)) from None
        except UsageError as problem:
            _refuse(problem, as_json=as_json)
        finally:
            PLUGINS_OF_RUN.reset(run)
            forget_cluster()


class _Listed(TyperGroup):
    """The commands of `group` as a list shows them: by what is known of them before they are imported."""

    def __init__(self, group: Commands) -> None:
        from mqframe.hooks.installed import by_name, entry_points

        super().__init__()
        self._group = group
        self._installed = by_name(entry_points(group="mqframe"))

    def list_commands(self, ctx: Any) -> list[str]:
        return self._group.list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        told = COMMANDS[cmd_name].help if cmd_name in COMMANDS else self._told_beside(cmd_name)
        return TyperCommand(cmd_name, help=told) if told else self._group.get_command(ctx, cmd_name)

    def _told_beside(self, name: str) -> str:
        """What the module that offers the command says of it in `COMMAND_HELP`; "" where it does not."""
        offered = self._installed.get(f"command.{name}")
        try:
            said = {} if offered is None else getattr(offered.load(), "COMMAND_HELP", {})
        except Exception:  # isolation boundary: a plugin that cannot be imported is told of as any broken one
            return ""
        return str(said.get(name, ""))


def _refuse(problem: Any, *, as_json: bool) -> NoReturn:
    """End the program because of a `UsageError`."""
    if type(problem).__name__ == "NoArgsIsHelpError":  # no words at all: Typer shows the help
        raise problem
    report_usage(problem, as_json=as_json)
    raise typer.Exit(WRONG) from None


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
    offer_contexts(made)
    return made

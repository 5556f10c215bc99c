"""Shows again and again what changes, until Ctrl-C."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from mqframe.core.errors import RetryError, SettingError
from mqframe.core.printable import printable
from mqframe_cli.output import coloured, on_terminal, people, show, terminal_width, write_json

Rows = Sequence[Mapping[str, Any]]
View = Mapping[str, Rows]
"""Tables by title."""
Interval = Annotated[float, typer.Option(help="Look again after so many seconds.")]
INTERVAL_MIN: Final = 0.1


def watch(
    look: Callable[[], View],
    *,
    interval: float,
    as_json: bool = False,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Show what `look` finds, every `interval` seconds; Ctrl-C ends it in good order.

    On a terminal the last view takes the place of the one before; elsewhere they follow each other, with
    `as_json` one line each. While servers cannot be reached it goes on trying, and says so. Raises
    `SettingError` for an interval that is too short.
    """
    if interval < INTERVAL_MIN:
        raise SettingError(f"--interval {interval:g}: must be at least {INTERVAL_MIN:g} s")
    try:
        if as_json or not on_terminal():
            while True:
                try:
                    show_view(look(), as_json=as_json)
                except RetryError as problem:
                    typer.echo(f"mqframe: {printable(str(problem))}", err=True)
                pause(interval)
        else:
            _on_screen(look, interval, pause)
    except KeyboardInterrupt:
        return


def show_view(view: View, *, as_json: bool) -> None:
    """Write `view` once."""
    if as_json:
        write_json(view)
        return
    for title, rows in view.items():
        show(rows, as_json=False, title=title, empty=f"no {title}")


def screen_lines(view: View, width: int, height: int, *, bold: bool = False) -> list[str]:
    """The lines of `view` for a terminal; what does not fit is counted in the last one."""
    lines: list[str] = []
    for title, rows in view.items():
        lines += [title.upper(), *(people(rows, width, bold=bold) if rows else [f"no {title}"]), ""]
    lines.pop()
    if len(lines) <= height:
        return lines
    return [*lines[: height - 1], f"… {len(lines) - height + 1} more lines; --json shows all"]


def _on_screen(look: Callable[[], View], interval: float, pause: Callable[[float], object]) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    lines: list[str] = []
    bold = coloured()  # asked now: while the screen is taken, standard output is none that has colours
    try:
        with Live(console=Console(highlight=False), screen=True, auto_refresh=False) as live:
            while True:
                height = shutil.get_terminal_size().lines
                try:
                    lines = screen_lines(look(), terminal_width(), height - 1, bold=bold)
                    shown = lines
                except RetryError as failed:
                    shown = [f"mqframe: {printable(str(failed))}", *lines][: height - 1]
                live.update(Text.from_ansi("\n".join(shown)), refresh=True)
                pause(interval)
    finally:
        if lines:
            typer.echo("\n".join(lines))  # what was seen last stays

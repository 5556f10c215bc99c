"""Logs of commands that run until they are told to end."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from mqframe.core.errors import SettingError

LEVELS: Final = ("debug", "info", "warning", "error")
LogLevel = Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")]


def show_logs(level: str, *, as_json: bool) -> None:
    """Write logs from `level` on to standard error. Raises `SettingError` for a level that there is not."""
    from mqframe import log

    check_level(level)
    log.show(json=as_json, level=level.upper())


def check_level(level: str) -> None:
    """Raise `SettingError` unless `level` is one of `LEVELS`."""
    if level not in LEVELS:
        raise SettingError(f"--log-level {level}: must be {', '.join(LEVELS[:-1])} or {LEVELS[-1]}")

"""What commands of plugins share with the built-in ones; public, unlike the rest of `mqframe_cli`.

`new_app` makes the Typer application that `register_commands` hands over; `access` gives the keyword
arguments with which clients are made, so that connections are secured and signed as the environment says, and
`admin_client` makes one for operators. `Json`, `NameServer` and `Interval` are the options `--json`,
`--nameserver` and `--interval`. `show`, `show_one`, `write_json` and `time_text` write results, `watch` does
again and again; `listed_topics` has the topics of a cluster as lists show them; `output_file` writes a file
that somebody named, unless `is_standard_output`; `ask_first` is for what cannot be taken back; `settings_of`
has the settings of a program, from files, variables and options.
An error of `mqframe.core.errors` that a command raises becomes one line and the exit code that fits it; the
codes here are for `typer.Exit` where nothing was raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqframe_cli.access import access, admin_client
from mqframe_cli.commands import FAILED, OK, RETRY, WRONG, new_app
from mqframe_cli.live.watch import Interval, watch
from mqframe_cli.names.deletion import ask_first
from mqframe_cli.names.known import listed_topics
from mqframe_cli.output import Json, NameServer, show, show_one, time_text, write_json
from mqframe_cli.text.output_file import is_standard_output, output_file

if TYPE_CHECKING:
    from mqframe.core.config.configuration import Resolved

__all__ = [
    "FAILED",
    "OK",
    "RETRY",
    "WRONG",
    "Interval",
    "Json",
    "NameServer",
    "access",
    "admin_client",
    "ask_first",
    "is_standard_output",
    "listed_topics",
    "new_app",
    "output_file",
    "settings_of",
    "show",
    "show_one",
    "time_text",
    "watch",
    "write_json",
]


def settings_of(
    program: str, options: Mapping[str, Mapping[str, Any]], config: Path | None, items: Sequence[str] | None
) -> Resolved:
    """The settings of `program`: "server", "nameserver", "broker" or "client".

    `options`: by name of an option of the command, the value of each setting that it gives, by path; `None`
    is not given. `config`: the file of `--config`; `items`: those of `--set`. Raises `SettingError`.
    """
    from mqframe_cli.settings.configuration import load  # few commands need settings of servers

    return load(program, options, config, items or ())

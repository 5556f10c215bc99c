"""What commands of plugins share with the built-in ones; public, unlike the rest of `mqframe_cli`.

`new_app` makes the Typer application that `register_commands` hands over; `access` gives the keyword
arguments with which clients are made, so that connections are secured and signed as the environment says, and
`admin_client` makes one for operators. `Json`, `NameServer` and `Interval` are the options `--json`,
`--nameserver` and `--interval`. `show`, `show_one`, `write_json` and `time_text` write results, `watch` again
and again; `ask_first` asks before what cannot be taken back. An error of `mqframe.core.errors` that a command
raises becomes one line and the exit code that fits it; the codes here are for `typer.Exit` where nothing was
raised.
"""

from __future__ import annotations

from mqframe_cli.access import access, admin_client
from mqframe_cli.commands import FAILED, OK, RETRY, WRONG, new_app
from mqframe_cli.live.watch import Interval, watch
from mqframe_cli.names.deletion import ask_first
from mqframe_cli.output import Json, NameServer, show, show_one, time_text, write_json

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
    "new_app",
    "show",
    "show_one",
    "time_text",
    "watch",
    "write_json",
]

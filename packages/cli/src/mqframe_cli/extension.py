"""What commands of plugins share with the built-in ones; public, unlike the rest of `mqframe_cli`.

`new_app` makes the Typer application that `register_commands` hands over; `access` gives the keyword
arguments with which clients are made, so that connections are secured and signed as the environment says;
`Json` and `NameServer` are the options `--json` and `--nameserver`; `show`, `show_one`, `write_json` and
`time_text` write results. An error of `mqframe.core.errors` that a command raises becomes one line and the
exit code that fits it; the codes here are for `typer.Exit` where nothing was raised.
"""

from __future__ import annotations

from mqframe_cli.access import access
from mqframe_cli.commands import FAILED, OK, RETRY, WRONG, new_app
from mqframe_cli.output import Json, NameServer, show, show_one, time_text, write_json

__all__ = [
    "FAILED",
    "OK",
    "RETRY",
    "WRONG",
    "Json",
    "NameServer",
    "access",
    "new_app",
    "show",
    "show_one",
    "time_text",
    "write_json",
]

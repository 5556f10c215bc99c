"""Commands of the command line, run in this process."""

from __future__ import annotations

import json
from typing import Any

from mqframe_cli.app import app
from typer.testing import CliRunner


def run(*words: str, code: int = 0, data: bytes = b"") -> str:
    """What a command writes to standard output; it has to end with `code`."""
    result = CliRunner().invoke(app, list(words), input=data)
    assert result.exit_code == code, f"{result.output}{result.exception!r}"
    return result.stdout


def refused(*words: str, code: int = 2) -> str:
    """What a command says on standard error; it has to end with `code`."""
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, f"{result.output}{result.exception!r}"
    return result.stderr


def read(*words: str, **more: Any) -> Any:
    """The value that a command writes as JSON."""
    return json.loads(run(*words, "--json", **more))

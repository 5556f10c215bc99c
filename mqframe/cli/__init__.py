"""The command line. Thin: every command hands over to the library and shows what came of it."""

from __future__ import annotations

import sys

INSTALL = 'pip install "mqframe[standard]"'


def main() -> None:
    """Run `mqframe …`. Without the command line's own dependencies, say how to install them and exit 2."""
    try:
        from mqframe.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"mqframe: the command line needs {missing.name}; install it with: {INSTALL}\n")
        raise SystemExit(2) from None
    app(prog_name="mqframe")

"""The command line. Thin: every command hands over to the library and shows what came of it."""

from __future__ import annotations

import os
import sys

INSTALL = 'pip install "mqframe[standard]"'


def main() -> None:
    """Run `mqframe …`. Without the command line's own dependencies, say how to install them and exit 2."""
    try:
        from mqframe_cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"mqframe: the command line needs {missing.name}; install it with: {INSTALL}\n")
        raise SystemExit(2) from None
    # As `python -m mqframe` does: "module:attribute" may stand in the working folder. Last, so that nothing
    # there takes the place of what is installed.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    app(prog_name="mqframe")

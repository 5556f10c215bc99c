"""`python -m mqframe` is `mqframe`, where the command line is installed."""

from __future__ import annotations

import sys

from mqframe.hooks.installed import by_name, entry_points

NEEDED = 'mqframe: the command line is not installed; install it with: pip install "mqframe[standard]"\n'


def main() -> None:
    """Run the console script `mqframe`. Exits with 2 where no distribution brings it."""
    found = by_name(entry_points(group="console_scripts"))
    if "mqframe" not in found:
        sys.stderr.write(NEEDED)
        raise SystemExit(2)
    found["mqframe"].load()()


if __name__ == "__main__":
    main()

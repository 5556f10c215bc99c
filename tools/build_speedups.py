"""Builds what `mqframe-speedups` is published as: wheels for Linux, and a source distribution.

    python tools/build_speedups.py [--out dist] [--target TARGET ...]

Needs cargo and uv. maturin and Zig, which links for machines of other kinds, come from the package index, and
`rustup` fetches Rust's standard library where it is missing for one. A wheel serves Python 3.11 and all later
versions; without `--target` there is one for each of `TARGETS`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TARGETS: Final = {  # and the oldest C library that a wheel for it runs with
    "x86_64-unknown-linux-gnu": "manylinux2014",
    "aarch64-unknown-linux-gnu": "manylinux2014",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
MATURIN: Final = ["uvx", "--from", "maturin[zig]>=1.9.4,<2", "maturin"]


def run(command: list[str]) -> None:
    """Run a command where the distribution stands."""
    environment = {"CARGO_TARGET_DIR": str(ROOT / "build/speedups_target"), **os.environ}
    subprocess.run(command, cwd=ROOT / "packages/speedups", env=environment, check=True)


def main() -> None:
    """Build what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--target", action="append", choices=TARGETS)
    arguments = parser.parse_args()
    out = ["--out", str(arguments.out.resolve())]
    for target in arguments.target or TARGETS:
        known = subprocess.run(
            ["rustc", "--print", "target-libdir", "--target", target],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if not Path(known).is_dir():
            run(["rustup", "target", "add", target])
        build = ["build", "--release", "--locked", "--zig", "--compatibility", TARGETS[target]]
        run([*MATURIN, *build, "--target", target, *out])
    run([*MATURIN, "sdist", *out])


if __name__ == "__main__":
    main()

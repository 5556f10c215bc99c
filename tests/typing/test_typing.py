"""What type checkers say to applications: nothing about the right one, all about the wrong one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def said_of(name: str) -> list[str]:
    """What `mypy --strict` says of a file here."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-pretty",
        "--hide-error-context",
        str(HERE / name),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


@pytest.mark.timeout(300)
def test_a_right_application_passes() -> None:
    assert said_of("right.py") == []


@pytest.mark.timeout(300)
def test_each_error_of_a_wrong_one_is_found() -> None:
    lines = (HERE / "wrong.py").read_text("utf-8").splitlines()
    marked = {}
    for number, line in enumerate(lines, 1):
        if mark := re.search("# error: (.+)", line):
            marked[number] = mark[1]
    found = {}
    for line in said_of("wrong.py"):
        number, kind = re.search(r"wrong\.py:(\d+): error: .*\[([a-z-]+)\]$", line).groups()
        found[int(number)] = kind
    assert found == marked

"""What type checkers say to applications: nothing about the right ones, all about the wrong one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RIGHT = ("right.py", "application.py")


def mypy_says(name: str) -> dict[int, str]:
    """The errors that `mypy --strict` finds in a file here: the kind by line."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--hide-error-context", HERE / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    found = [re.search(r"\.py:(\d+): error: .*\[([a-z-]+)\]$", line) for line in lines]
    return {int(match[1]): match[2] for match in found if match is not None}


def pyright_says(name: str) -> dict[int, str]:
    """The errors that pyright, in its basedpyright edition, finds in a file here: the rule by line."""
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error"]
    command += ["--pythonpath", sys.executable, str(HERE / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1: each.get("rule", "syntax") for each in found}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("says", [mypy_says, pyright_says])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_application_passes(name: str, says) -> None:
    assert says(name) == {}


@pytest.mark.timeout(300)
def test_each_error_of_a_wrong_one_is_found() -> None:
    lines = (HERE / "wrong.py").read_text("utf-8").splitlines()
    marked = {
        number: mark[1] for number, line in enumerate(lines, 1) if (mark := re.search("# error: (.+)", line))
    }
    assert mypy_says("wrong.py") == marked
    assert set(pyright_says("wrong.py")) == set(marked)

"""Completion of commands and options in three shells, as these ask for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def mqframe(tmp_path: Path, **variables: str) -> str:
    """What `mqframe` answers to a shell."""
    done = subprocess.run(
        [sys.executable, "-m", "mqframe"],
        env={**os.environ, "HOME": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def asked(shell: str, line: str) -> dict[str, str]:
    if shell == "bash":
        return {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    return {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "word"),
    [("mqframe gro", "group"), ("mqframe topic ta", "tail"), ("mqframe topic list --con", "--context")],
)
def test_shells_complete_commands_and_options(tmp_path: Path, shell: str, line: str, word: str) -> None:
    assert word in mqframe(tmp_path, _MQFRAME_COMPLETE=f"complete_{shell}", **asked(shell, line))


@pytest.mark.parametrize(
    ("shell", "said"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete ")]
)
def test_each_shell_has_a_script(tmp_path: Path, shell: str, said: str) -> None:
    assert said in mqframe(tmp_path, _MQFRAME_COMPLETE=f"source_{shell}")


def test_bash_itself_completes(tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(mqframe(tmp_path, _MQFRAME_COMPLETE="source_bash"))
    words = "COMP_WORDS=(mqframe context us); COMP_CWORD=2; _mqframe_completion mqframe"
    called = f'source {script}; {words}; echo "$COMPREPLY"'
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", called], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "use", done.stderr

"""The table of request kinds: it holds all of them, and is filled when it is first asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqframe.core import requests


def modules_after(code: str) -> set[str]:
    """The files of requests that a process has imported after `code`."""
    prefix = f"{requests.__name__}."
    code += f"\nimport sys; print(*(m for m in sys.modules if m.startswith({prefix!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.removeprefix(prefix) for name in done.stdout.split()}


def test_every_file_with_kinds_is_in_the_list() -> None:
    folder = Path(requests.__file__).parent
    declaring = {path.stem for path in folder.glob("*.py") if "\n@request(" in path.read_text("utf-8")}
    assert declaring == set(requests.KINDS)
    assert {kind.__module__ for kind in requests.REQUESTS.values()} >= {
        f"{requests.__name__}.{name}" for name in requests.KINDS
    }


def test_who_needs_one_kind_imports_no_others() -> None:
    imported = modules_after("from mqframe.core.requests.messages import SendMessage")
    assert "messages" in imported
    assert not imported & {"admin", "assignment", "pop", "roles"}


def test_the_table_is_whole_when_it_is_asked_for() -> None:
    assert modules_after("from mqframe.core.requests import REQUESTS") >= set(requests.KINDS)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchThing"):
        requests.NoSuchThing  # noqa: B018

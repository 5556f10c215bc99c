"""What the distribution offers, and what is imported for it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import mqframe_admin
import pytest

import mqframe
from mqframe.hooks import names

OFFERED = ("Admin", "AsyncAdmin", "DeadLetter", "QueueExpansion")


def rooms(use: str) -> set[str]:
    """The rooms of the distribution that a process has loaded after `use`."""
    code = f"import sys\n{use}\nprint(*(name for name in sys.modules if name.startswith('mqframe_admin.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[1] for name in done.stdout.split()}


def test_it_has_what_programs_of_operators_need() -> None:
    assert mqframe_admin.__all__ == sorted(OFFERED)
    with pytest.raises(AttributeError, match="'mqframe_admin' has no attribute 'Operator'"):
        mqframe_admin.Operator  # noqa: B018


@pytest.mark.parametrize("name", OFFERED)
def test_the_clients_part_has_the_names_of_mqframe_too(name: str) -> None:
    assert getattr(mqframe, name) is getattr(mqframe_admin, name)


def test_without_it_these_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "offered_names", dict[str, EntryPoint])
    for name in OFFERED:
        with pytest.raises(AttributeError, match=f"{name} is not installed.*standard.*mqframe-plugin-admin"):
            names.load_name(name)


def test_a_client_loads_nothing_of_the_brokers_part() -> None:
    assert rooms("import mqframe_admin") == set()
    assert "broker" not in rooms("from mqframe import Admin")
    assert rooms("from mqframe_admin import QueueExpansion") == {"rules"}
    assert rooms("from mqframe import Broker, Producer") == set()

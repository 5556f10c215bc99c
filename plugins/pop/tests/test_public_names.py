"""What the distribution offers, and what is imported for it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import mqframe_pop
import pytest

import mqframe
from mqframe.hooks import names

OFFERED = ("AsyncSimpleConsumer", "PoppedMessage", "SimpleConsumer")


def loaded(use: str) -> set[str]:
    """The modules of the project that a process has loaded after `use`."""
    code = f"import sys\n{use}\nprint(*(name for name in sys.modules if name.startswith('mqframe')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def rooms(use: str) -> set[str]:
    """The rooms of the distribution that are loaded after `use`."""
    return {name.split(".")[1] for name in loaded(use) if name.startswith("mqframe_pop.")}


def test_it_has_what_consumers_and_tests_need() -> None:
    assert mqframe_pop.__all__ == sorted([*OFFERED, "PopService", "PopSettings"])
    assert mqframe_pop.PopSettings.SECTION == "pop"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'mqframe_pop' has no attribute 'Popper'"):
        mqframe_pop.Popper  # noqa: B018


@pytest.mark.parametrize("name", OFFERED)
def test_consumers_have_the_names_of_mqframe_too(name: str) -> None:
    assert getattr(mqframe, name) is getattr(mqframe_pop, name)


def test_without_it_these_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "offered_names", dict[str, EntryPoint])
    for name in OFFERED:
        with pytest.raises(AttributeError, match=f"{name} is not installed.*pip install mqframe-plugin-pop"):
            names.load_name(name)


def test_a_broker_loads_nothing_of_consumers_nor_these_of_the_broker() -> None:
    assert rooms("import mqframe_pop") == set()
    assert "client" not in rooms("from mqframe_pop import PopService")
    assert not rooms("from mqframe_pop import PopSettings") & {"broker", "client"}
    assert "broker" not in rooms("from mqframe import SimpleConsumer")
    assert not rooms("from mqframe import Broker, Producer")

"""Packages that import what they offer when it is first used."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from mqframe.hooks.late_names import late_names


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Any:
    home, made = ModuleType("late_home"), ModuleType("late_package")
    home.Lamp, home.Bell = "a lamp", "a bell"  # type: ignore[attr-defined]
    homes = {"Lamp": "late_home", "Bell": "late_home", "Gone": "late_home", "Away": "late_away"}
    made.__getattr__, made.__dir__ = late_names("late_package", homes)  # type: ignore[method-assign, assignment]
    monkeypatch.setitem(sys.modules, "late_home", home)
    monkeypatch.setitem(sys.modules, "late_package", made)
    return made


def test_a_name_is_imported_once_and_stays(package: Any) -> None:
    assert "Lamp" not in vars(package)
    assert package.Lamp == "a lamp"
    sys.modules["late_home"].Lamp = "another"  # type: ignore[attr-defined]
    assert package.Lamp == "a lamp"
    assert "Bell" not in vars(package)


def test_what_is_offered_is_listed_before_it_is_imported(package: Any) -> None:
    assert dir(package) == package.__all__ == ["Away", "Bell", "Gone", "Lamp"]
    assert not {"Bell", "Lamp"} & vars(package).keys()


def test_other_names_are_refused_as_python_does(package: Any) -> None:
    with pytest.raises(AttributeError, match="module 'late_package' has no attribute 'Horn'"):
        _ = package.Horn
    with pytest.raises(AttributeError, match="module 'late_home' has no attribute 'Gone'"):
        _ = package.Gone
    with pytest.raises(ModuleNotFoundError, match="late_away"):
        _ = package.Away

"""Installed distributions and their entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint, distribution
from pathlib import Path

import pytest

from mqframe.hooks.installed import by_name, entry_points, name_and_version


def install(folder: Path, name: str, *points: str) -> None:
    info = folder / f"{name}-1.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("\n".join(["[acme.parts]", *points, "[other]", "x = y:Z"]))


def test_those_of_a_group_are_found_with_what_is_put_on_the_path_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert entry_points(group="acme.parts") == []
    install(tmp_path / "one", "acme", "wheel = acme:Wheel", "door = acme:Door")
    monkeypatch.syspath_prepend(tmp_path / "one")
    assert {each.name: each.value for each in entry_points(group="acme.parts")} == {
        "wheel": "acme:Wheel",
        "door": "acme:Door",
    }
    install(tmp_path / "two", "beta", "roof = beta:Roof")
    monkeypatch.syspath_prepend(tmp_path / "two")
    assert {each.name for each in entry_points(group="acme.parts")} == {"wheel", "door", "roof"}


def test_what_is_installed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "acme", "wheel = acme:Wheel")
    monkeypatch.syspath_prepend(tmp_path)
    first = entry_points(group="acme.parts")
    (tmp_path / "acme-1.5.dist-info" / "entry_points.txt").unlink()
    assert entry_points(group="acme.parts") == first != []


def test_of_two_that_are_called_alike_the_first_counts() -> None:
    one, two = EntryPoint("a", "m:One", "g"), EntryPoint("a", "m:Two", "g")
    assert by_name([one, EntryPoint("b", "m:B", "g"), two]) == {"a": one, "b": EntryPoint("b", "m:B", "g")}


def test_a_distribution_tells_its_name_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "acme")
    monkeypatch.syspath_prepend(tmp_path)
    assert name_and_version(distribution("acme")) == ("acme", "1.5")

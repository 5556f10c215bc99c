"""What the documentation says of this project's distributions is what their project files say."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mqframe.core.requests import REQUESTS
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS, KNOWN_NAMES

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
PROJECTS: list[dict[str, Any]] = [tomllib.loads(path.read_text("utf-8"))["project"] for path in FILES]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


@pytest.fixture
def distributions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return __import__("distributions")


@pytest.fixture
def rows(distributions: ModuleType) -> dict[str, list[str]]:
    """The table of the page on plugins, by distribution."""
    lines = __import__("generate").distributions_table().splitlines()[2:]
    cells = [line.strip("|").split("|") for line in lines]
    return {name.strip("`"): rest for name, *rest in cells}


def test_all_distributions_are_read(distributions: ModuleType) -> None:
    found = {each.name: each.description for each in distributions.distributions()}
    assert found == {project["name"]: project["description"] for project in PROJECTS}


def test_what_they_offer_is_what_errors_say_to_install(distributions: ModuleType) -> None:
    found = distributions.distributions()
    assert {offer: each.name for each in found for offer in each.offers} == KNOWN_DISTRIBUTIONS
    assert {name: each.name for each in found for name in each.names} == KNOWN_NAMES


def test_names_of_one_kind_are_given_in_order(distributions: ModuleType) -> None:
    assert distributions.offered("authentication") == ("acl2", "plain_acl")
    assert distributions.offered("selector") == ("random", "machine_room", "monotonic")
    assert distributions.offered("no such kind") == ()


def test_rooms_of_packages_are_found_and_single_files_are_none(distributions: ModuleType) -> None:
    assert distributions.rooms("simulation") == ["mqframe_testing.simulation"]
    assert "mqframe_schedules.requests" not in distributions.rooms("requests")


def test_requests_of_plugins_are_known_with_their_distribution(distributions: ModuleType) -> None:
    packages = distributions.import_requests()
    assert packages["mqframe_schedules"] == "mqframe-plugin-schedules"
    assert packages["pyspark_mqframe"] == "mqframe-plugin-spark"
    assert {
        kind.__name__ for kind in REQUESTS.values() if kind.__module__ == "mqframe_schedules.requests"
    } == {
        "CreateSchedule",
        "ListSchedules",
        "PauseSchedule",
        "ResumeSchedule",
        "RemoveSchedule",
    }


def test_the_page_on_plugins_says_what_each_adds_and_what_brings_it(
    rows: dict[str, list[str]],
) -> None:
    assert list(rows) == [project["name"] for project in PROJECTS]
    for project in PROJECTS:
        description, adds, extras = rows[project["name"]]
        groups = project.get("entry-points", {})
        names = [name.partition(".")[2] for name in groups.get("mqframe", {})]
        assert description == project["description"]
        assert re.findall(r"`([^`]+)`", adds) == names + list(groups.get("mqframe.names", {}))
        assert re.findall(r"`([^`]+)`", extras) == [
            extra for extra, needs in EXTRAS.items() if project["name"] in {n.split(";")[0] for n in needs}
        ]

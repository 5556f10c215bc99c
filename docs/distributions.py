"""The distributions of this repository, as their `pyproject.toml` files describe them."""

from __future__ import annotations

import importlib
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs

ROOT: Final = Path(__file__).parents[1]
KINDS_GROUP: Final = "mqframe"
NAMES_GROUP: Final = "mqframe.names"


@attrs.frozen
class Distribution:
    """One that adds to the kernel. `offers`: (kind, name) of its plugins; `names`: what it adds to those of
    `mqframe`; `packages`: what is imported; `extras`: those of `mqframe` that list it.
    """

    name: str
    description: str
    offers: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    packages: tuple[str, ...]
    extras: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """Whether all its packages are found here."""
        return all(find_spec(package) is not None for package in self.packages)


@cache
def distributions() -> tuple[Distribution, ...]:
    """All of `packages/` and `plugins/`, in the order of their folders."""
    extras = _read(ROOT / "pyproject.toml")["project"]["optional-dependencies"]
    found = [*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]
    return tuple(_distribution(_read(path), extras) for path in sorted(found))


def offered(kind: str) -> tuple[str, ...]:
    """The names of this project's plugins of a kind, without those of the kernel."""
    return tuple(name for each in distributions() for of, name in each.offers if of == kind)


def import_requests() -> dict[str, str]:
    """Import the request kinds of distributions that are installed, and little else of them; the
    distribution by its package.
    """
    for package in _installed():
        for folder in map(Path, _folders(package)):
            for file in sorted(folder.rglob("*.py")):
                if "\n@request(" in file.read_text("utf-8"):
                    importlib.import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts))
    return _installed()


def rooms(name: str) -> list[str]:
    """The packages called `name` right below those of distributions that are installed."""
    return [f"{package}.{name}" for package in _installed() if _has(package, f"{name}/__init__.py")]


def _installed() -> dict[str, str]:
    return {package: each.name for each in distributions() if each.installed for package in each.packages}


def _has(package: str, file: str) -> bool:
    """Looks for the file, as asking for a module imports what is above it."""
    return any((Path(folder) / file).exists() for folder in _folders(package))


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    return list((spec and spec.submodule_search_locations) or ())


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _distribution(project_file: dict[str, Any], extras: dict[str, list[str]]) -> Distribution:
    project = project_file["project"]
    groups = project.get("entry-points", {})
    tools = project_file["tool"]
    packages = (
        [tools["maturin"]["module-name"].partition(".")[0]]
        if "maturin" in tools
        else tools["hatch"]["build"]["targets"]["wheel"]["packages"]
    )
    offers = (name.partition(".") for name in groups.get(KINDS_GROUP, {}))
    return Distribution(
        name=project["name"],
        description=project["description"],
        offers=tuple((kind, name) for kind, _, name in offers),
        names=tuple(groups.get(NAMES_GROUP, {})),
        packages=tuple(Path(package).name for package in packages),
        extras=tuple(extra for extra, needs in extras.items() if project["name"] in map(_named, needs)),
    )


def _named(requirement: str) -> str:
    """The distribution that a requirement without a version names, wherever it is asked for."""
    return requirement.partition(";")[0].strip()

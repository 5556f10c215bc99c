"""Sections of settings that other distributions add to a program: `[metrics]` of a broker.

One is named by an entry point "program.section" of the group `mqframe.sections`, for example
"broker.metrics", which leads to its class, made by `mqframe.core.config.settings.settings`. A server has
those of its name server and of its broker. Sections of broker services are found with their services
instead.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Final

from mqframe.core.config.programs import ALL_SECTIONS, PARTS
from mqframe.core.errors import PluginError
from mqframe.hooks.installed import by_name, entry_points
from mqframe.hooks.known_distributions import KNOWN_SECTIONS
from mqframe.hooks.names import install_line

GROUP: Final = "mqframe.sections"


@cache
def _offered() -> dict[tuple[str, str], EntryPoint]:
    """What is installed, by program and section."""
    found = [(name.partition("."), offer) for name, offer in by_name(entry_points(group=GROUP)).items()]
    return {(program, section): offer for (program, _, section), offer in found}


def added_sections(program: str = "") -> dict[str, EntryPoint]:
    """The sections that installed distributions add to `program`, "": to any, by name."""
    parts = PARTS.get(program, (program,))
    return {section: offer for (owner, section), offer in _offered().items() if not program or owner in parts}


def missing_sections(program: str) -> dict[str, str]:
    """By name, the sections that `program` would have if this project's distributions were there.

    The values say what to type to have them.
    """
    parts, there = PARTS.get(program, (program,)), added_sections(program)
    return {
        section: install_line(distribution)
        for (owner, section), distribution in KNOWN_SECTIONS.items()
        if owner in parts and section not in there
    }


def section_names() -> frozenset[str]:
    """The sections that some program has, or would have; those of broker services of plugins are apart."""
    return ALL_SECTIONS.union(added_sections(), (section for _, section in KNOWN_SECTIONS))


def sections_of_others(program: str) -> frozenset[str]:
    """The sections that `program` passes over: other programs add them, or would."""
    return section_names() - ALL_SECTIONS - added_sections(program).keys() - missing_sections(program).keys()


def load_section(section: str) -> type[Any]:
    """The class of a section that an installed distribution adds, imported now.

    Raises KeyError where none does, and `PluginError` for one that is broken, or is another section.
    """
    offer = added_sections()[section]
    source = f"section {section} of {offer.value}"
    try:
        found: Any = offer.load()
    except Exception as problem:  # importing foreign code: whatever it raises is the plugin's failure
        raise PluginError(f"{source} cannot be loaded: {type(problem).__name__}: {problem}") from problem
    if getattr(found, "SECTION", None) != section:
        raise PluginError(f'{source} must be a class made by settings("{section}"), not {found!r}')
    made: type[Any] = found
    return made

"""What lists of plugins say: names that can be chosen, and misspelt ones that nobody can choose."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint

import attrs

from mqframe.core.config.suggestions import did_you_mean
from mqframe.hooks.kinds import KINDS
from mqframe.hooks.options import OptionInfo
from mqframe.log import get_logger

_log = get_logger("hooks")


@attrs.frozen
class PluginInfo:
    """One name that can be chosen. `options` is filled only where it was asked for, since that imports.

    `problem`: why a plugin could not be imported when its options were asked for, or why nobody can choose
    what an entry point offers; "" otherwise.
    """

    kind: str
    name: str
    distribution: str
    version: str
    options: tuple[OptionInfo, ...] | None = None
    problem: str = ""


def misnamed(entry_points: Iterable[EntryPoint]) -> list[PluginInfo]:
    """What is probably misspelt: a kind that is nearly one of ours, or a kind without a name.

    Each is logged, once in a program. A kind that is like none of ours is of a later version, and no fault.
    """
    found = []
    for each in entry_points:
        problem = _problem(each.name)
        if problem:
            kind, _, name = each.name.partition(".")
            distribution = ("", "") if each.dist is None else (each.dist.name, each.dist.version)
            found.append(PluginInfo(kind, name, *distribution, problem=problem))
            _warn(each.name, distribution[0] or each.module, problem)
    return found


def _problem(entry_point: str) -> str:
    kind, _, name = entry_point.partition(".")
    if kind in KINDS:
        return "" if name else f"entry point {entry_point!r} names no plugin; write {kind}.NAME"
    meant = did_you_mean(kind, KINDS, most=1, cutoff=0.75)
    return f"there is no plugin kind {kind!r}; {meant}" if meant else ""


@cache
def _warn(entry_point: str, distribution: str, problem: str) -> None:
    _log.warning(
        "plugin cannot be chosen", entry_point=entry_point, distribution=distribution, reason=problem
    )

"""Settings that have moved: their old names go on working, and people are told the new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from mqframe.core.config.settings import shown
from mqframe.core.errors import SettingError


class MovedSettings:
    """The old names of settings, and which of them were used.

    `fields`: by path ("pop.stay_ms"), those of all sections.
    """

    def __init__(self, fields: Mapping[str, attrs.Attribute[Any]]) -> None:
        self._fields = fields
        self._places = {was: path for path, field in fields.items() for was in field.metadata.get("was", ())}
        self._given: dict[tuple[int, str], tuple[str, Any, str]] = {}
        self._used: dict[str, str] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def place(self, path: str) -> str:
        """Where the setting is that was at `path`; any other is where it was."""
        return self._places.get(path, path)

    def take(self, source: int, name: str, value: Any, origin: str, path: str) -> None:
        """Note that `name` in the source of that number gives `value` to the setting `path`.

        Raises `SettingError` where the same source gives it another one by another name, if one is old.
        """
        before, known, place = self._given.get((source, path), (name, value, origin))
        old = [each for each in (before, name) if each in self._places]
        if before != name and old and known != value:
            secret = self._fields[path].metadata.get("secret", False)
            raise SettingError(
                f"{before} = {shown(known, secret)} from {place} and {name} = {shown(value, secret)} from"
                f" {origin} are the same setting: leave {old[0]} out, which is its old name"
            )
        self._given[source, path] = name, value, origin
        if name in self._places:
            self._used[name] = origin

    def warnings(self) -> Iterator[str]:
        """For people, which old names were used, and the new ones."""
        if self._used:
            names = ", ".join(
                f"{old} (from {origin}) is {self._places[old]}" for old, origin in sorted(self._used.items())
            )
            yield f"old names of settings, which have moved: {names}"

"""Where a plugin gets other plugins from."""

from __future__ import annotations

from typing import Any, Protocol


class Plugins(Protocol):
    """Handed to a factory that has a parameter `plugins`: the manager that makes the plugin.

    What is chosen through it obeys what the application registered and blocked there.
    """

    def create(self, kind: str, choice: object, options: object = None, *arguments: object) -> Any:
        """The object that `choice` stands for: a name, a class, an object.

        `options`: a mapping or an instance of its `Options`; `arguments` go to its factory before them.
        Raises `PluginError` or `SettingError`.
        """

    def names(self, kind: str) -> list[str]:
        """The names that can be chosen for `kind`, sorted. Imports nothing."""

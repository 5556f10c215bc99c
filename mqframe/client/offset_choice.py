"""Which offset store a consumer uses; the store itself is made once the client id is known."""

from __future__ import annotations

from pathlib import Path

from mqframe.client.instance import ClientInstance
from mqframe.client.offsets import BrokerOffsets
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext
from mqframe.hooks.manager import PluginManager


class OffsetChoice:
    """An offset store by name, class or object, with its options. `directory`: where local files may lie.

    By default "remote", and "local" for a `broadcasting` member.

    Raises `PluginError` for a name that stands for none.
    """

    def __init__(
        self, plugins: PluginManager, choice: object, options: object, directory: Path, *, broadcasting: bool
    ) -> None:
        choice = choice or ("local" if broadcasting else "remote")
        self._plugins = plugins
        self._choice = choice
        self._options = options
        self._directory = directory
        if isinstance(choice, str) and ":" not in choice and choice not in plugins.names("offset_store"):
            plugins.create("offset_store", choice)

    def make(self, instance: ClientInstance, group: str) -> OffsetStore:
        """The store of the member `instance` of `group`."""
        context = OffsetStoreContext(
            group, instance.client_id, BrokerOffsets(instance, group), self._directory
        )
        made: OffsetStore = self._plugins.create("offset_store", self._choice, self._options, context)
        return made

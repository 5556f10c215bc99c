"""Opening the index of a store."""

from __future__ import annotations

from mqframe.hooks.interfaces.key_index import KeyIndexing, KeyIndexPlace
from mqframe_index.settings import IndexSettings
from mqframe_index.store.index_files import IndexFiles

FOLDER = "index"
"""The folder of its files in that of the store."""


class FileIndexing(KeyIndexing):
    """Opens RocketMQ's index files, unless they are switched off."""

    settings: IndexSettings

    def open(self, place: KeyIndexPlace) -> IndexFiles | None:
        """The files in the folder `index` of the store; `None` with `index.enabled = false`."""
        settings = self.settings
        if not settings.enabled:
            return None
        files = IndexFiles(
            place.directory / FOLDER, settings.slots, settings.entries, place.allocate, place.now_ms
        )
        files.load()
        return files

"""A small file of settings or progress, replaced whole, with the version before beside it (store.md §5)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from mqframe.core.errors import MqframeError
from mqframe.log import get_logger
from mqframe.store.files.log_file import sync_directory
from mqframe.store.files.modes import file_mode, make_folder

T = TypeVar("T")
log: Final = get_logger("store")


class ConfigFile:
    """The file at `path`; `path` + ".bak" holds what it was before the last save."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup = path.with_name(path.name + ".bak")

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """What `decode` makes of the file; of the backup when the file is missing, empty or broken.

        `None` when there is neither. `decode` says "broken" by raising ValueError, KeyError, TypeError or an
        error of mqframe. When both are broken `None` too, with an error in the log: a broker starts then as
        one without the file does.
        """
        for path in (self.path, self.backup):
            try:
                raw = path.read_bytes()
                if raw.strip():
                    return decode(raw)
                log.warning("configuration file is empty", file=str(path))
            except FileNotFoundError:
                continue
            except (MqframeError, ValueError, KeyError, TypeError, AttributeError) as problem:
                log.error("configuration file is broken", file=str(path), problem=str(problem))
        return None

    def save(self, content: bytes) -> None:
        """Replace the file by `content`, durably and at once; the former one becomes the backup.

        May run in a thread. Raises OSError; the former file is in place then.
        """
        make_folder(self.path.parent)
        fresh = self.path.with_name(self.path.name + ".tmp")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, file_mode())
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        if self.path.exists() and self.path.stat().st_size:
            # The backup is a second name of the old file, so that neither name is ever without content.
            spare = self.path.with_name(self.path.name + ".bak.tmp")
            spare.unlink(missing_ok=True)
            os.link(self.path, spare)
            os.replace(spare, self.backup)
        os.replace(fresh, self.path)
        sync_directory(self.path.parent)

"""A small file of settings or progress, replaced whole, with the version before beside it (store.md §5)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from mqframe.core.errors import StoreError
from mqframe.log import get_logger
from mqframe.store.files.syncing import make_directories, sync_directory, write_fresh

T = TypeVar("T")
log: Final = get_logger("store")


class ConfigFile:
    """The file at `path`; `path` + ".bak" holds what it was before the last save."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup = path.with_name(path.name + ".bak")

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """What `decode` makes of the file; of the backup when the file is missing, empty or broken.

        `None` when there is neither, or the first save was cut off: one file, and that empty. `decode` says
        "broken" by raising anything but OSError and MemoryError, which are raised. Raises `StoreError` when
        something was kept and neither can be read: whoever went on without it would save over it.
        """
        broken: list[str] = []
        for path in (self.path, self.backup):
            try:
                raw = path.read_bytes()
                if raw.strip():
                    return decode(raw)
                log.warning("configuration file is empty", file=str(path))
                broken.append(f"{path} is empty")
            except FileNotFoundError:
                continue
            except (OSError, MemoryError):
                raise
            except Exception as problem:  # whatever decoding meets in damaged bytes
                log.error("configuration file is broken", file=str(path), problem=str(problem))
                broken.append(f"{path} is broken: {str(problem) or type(problem).__name__}")
        if not broken or broken == [f"{self.path} is empty"]:
            return None
        raise StoreError(
            f"{'; '.join(broken)}. Put a copy of {self.path.name} from elsewhere in its place; or, to start"
            f" without what it held, move it and {self.backup.name} away"
        )

    def save(self, content: bytes) -> None:
        """Replace the file by `content`, durably and at once; the former one becomes the backup.

        May run in a thread. Raises OSError; the former file is in place then.
        """
        make_directories(self.path.parent)
        fresh = write_fresh(self.path, content)
        if self.path.exists() and self.path.stat().st_size:
            # The backup is a second name of the old file, so that neither name is ever without content.
            spare = self.path.with_name(self.path.name + ".bak.tmp")
            spare.unlink(missing_ok=True)
            os.link(self.path, spare)
            os.replace(spare, self.backup)
        os.replace(fresh, self.path)
        sync_directory(self.path.parent)

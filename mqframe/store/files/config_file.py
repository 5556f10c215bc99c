"""A small file of settings or progress, replaced whole, with the version before beside it (store.md §5)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from mqframe.core.errors import StoreError
from mqframe.log import get_logger
from mqframe.store.files.saved_sum import SavedSum, SavedSums, read_sums, sum_path, write_sums
from mqframe.store.files.syncing import make_directories, sync_directory, write_fresh

T = TypeVar("T")
_DAMAGED: Final = "it is not what was saved, says its checksum; to take it nevertheless, remove {name}"
log: Final = get_logger("store")


class ConfigFile:
    """The file at `path`; ".bak" behind that: what it was before the last save, ".sum": checksums of both."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup = path.with_name(path.name + ".bak")
        self.rejected = path.with_name(path.name + ".damaged")
        """Where the file is put when it is damaged and saved anew."""
        self._is_damaged = False

    @property
    def is_missing(self) -> bool:
        """Whether there is neither the file nor its copy."""
        return not self.path.exists() and not self.backup.exists()

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """What `decode` makes of the file; of the backup when the file is missing, empty, broken or damaged.

        Damaged is what differs from its checksum though nobody has saved it since. `None` when there is
        neither, or the first save was cut off: one file, and that empty. `decode` says "broken" by raising
        anything but OSError and MemoryError, which are raised. Raises `StoreError` when something was kept
        and neither can be read: whoever went on without it would save over it.
        """
        broken: list[str] = []
        sums = read_sums(self.path)
        for path in (self.path, self.backup):
            try:
                raw = path.read_bytes()
                if sums is not None and sums.is_damaged(raw, path, self.backup):
                    raise ValueError(_DAMAGED.format(name=sum_path(self.path).name))
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
                self._is_damaged |= path == self.path
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
        if self._is_damaged and self.path.exists():
            os.replace(self.path, self.rejected)  # and the copy stays, which is better
        self._is_damaged = False
        self._note_sums(SavedSum.of(content, fresh.stat().st_mtime_ns))
        if self.path.exists() and self.path.stat().st_size:
            # The backup is a second name of the old file, so that neither name is ever without content.
            spare = self.path.with_name(self.path.name + ".bak.tmp")
            spare.unlink(missing_ok=True)
            os.link(self.path, spare)
            os.replace(spare, self.backup)
        os.replace(fresh, self.path)
        sync_directory(self.path.parent)

    def _note_sums(self, saved: SavedSum) -> None:
        """Note checksums before the files change: `saved`, and of what is the copy then."""
        noted = read_sums(self.path)
        found = self.path.stat() if self.path.exists() else None
        if found is None or not found.st_size:
            former = None if noted is None else noted.former
        else:
            former = None if noted is None else noted.saved
            if former is None or (former.size, former.changed_ns) != (found.st_size, found.st_mtime_ns):
                former = SavedSum.of(self.path.read_bytes(), found.st_mtime_ns)
        write_sums(self.path, SavedSums(saved, former))

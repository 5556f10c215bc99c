"""Who may read what this process writes: by default nobody but its own user.

Files get `file_mode()` and folders `folder_mode()`, which are the process's, as is its umask; it counts too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mqframe.core.storage.file_modes import parse_mode
from mqframe.log import get_logger

log: Final = get_logger("store")
_in_use = {"file": 0o600}


def use_mode(text: str) -> None:
    """Make new files with these permissions, octal, from now on. Raises ValueError."""
    _in_use["file"] = parse_mode(text)


def file_mode() -> int:
    """The permissions of new files."""
    return _in_use["file"]


def folder_mode() -> int:
    """The permissions of new folders: who may read a file may enter its folder."""
    mode = _in_use["file"]
    return mode | (mode & 0o444) >> 2


def umask() -> int:
    """What a process takes from all that it makes, so that others' code keeps to this as well."""
    return 0o777 & ~folder_mode()


def make_folder(path: Path | str) -> list[Path]:
    """Make the folder at `path` and those that it lies in, where they are missing; these, outer ones first.

    Their names are not on the disk yet. Raises OSError.
    """
    path = Path(path)
    if path.is_dir():
        return []
    made = make_folder(path.parent)
    path.mkdir(mode=folder_mode(), exist_ok=True)
    return [*made, path]


def warn_if_open(folder: Path) -> None:
    """Say in the log that others may read what is in `folder`, which was there before, if they may."""
    mode = folder.stat().st_mode & 0o777
    if mode & ~folder_mode():
        log.warning(
            "other users can look into the store; it was made by something else",
            folder=str(folder), mode=f"{mode:o}", repair=f"chmod -R go-rwx {folder}",
        )  # fmt: skip

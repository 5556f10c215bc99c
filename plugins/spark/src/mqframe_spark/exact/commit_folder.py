"""Folders that a commit record can live in: files appear whole, and only one process can give a name."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa
from pyarrow import fs

from mqframe.core.errors import SettingError
from mqframe_spark.durable_file import TEMPORARY, sync_folder
from mqframe_spark.exact.object_folder import SCHEMES, checked_url, open_objects
from mqframe_spark.object_store_options import NONE, ObjectStoreOptions

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


class Folder(Protocol):
    """Files in one folder.

    All methods raise `OSError` for what a file system refuses, `FixError` and `RetryError` for object stores.
    """

    def names(self) -> list[str]:
        """What is in the folder; nothing when there is no such folder."""
        ...

    def read(self, name: str) -> bytes:
        """Raises `FileNotFoundError`."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write `content` to the disk, then give it `name`; False when that is taken. Makes the folder.

        `content`: unlike any that others write under that name, so that it tells whose it is.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file or an empty folder, if it is there."""
        ...

    def below(self, name: str) -> Folder:
        """The folder `name` in this one."""
        ...


class LocalFolder:
    """A folder of this machine, or of a file system that is mounted here."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        """See `Folder`."""
        try:
            return os.listdir(self._path)
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        return (self._path / name).read_bytes()

    def create(self, name: str, content: bytes) -> bool:
        """See `Folder`."""
        self._path.mkdir(parents=True, exist_ok=True)
        temporary = self._path / f".{name}.{uuid.uuid4().hex[:8]}{TEMPORARY}"
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link, unlike a rename, does not replace what is there.
            os.link(temporary, self._path / name)
        except (FileExistsError, FileNotFoundError):
            return False  # the second: whoever took the name has cleared away what was left over
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(self._path)
        return True

    def remove(self, name: str) -> None:
        """See `Folder`."""
        path = self._path / name
        with contextlib.suppress(FileNotFoundError):
            path.rmdir() if path.is_dir() else path.unlink()

    def below(self, name: str) -> Folder:
        """See `Folder`."""
        return LocalFolder(self._path / name)


class ArrowFolder:
    """A folder of any other file system that pyarrow opens, as that of Hadoop.

    It has no way to give a name only if it is free, so it is looked for before and read after: two drivers
    that begin in the same instant could both pass.
    """

    def __init__(self, system: fs.FileSystem, path: str) -> None:
        self._system = system
        self._path = path.rstrip("/")

    def names(self) -> list[str]:
        """See `Folder`."""
        found = self._system.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        return [each.base_name for each in found]

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        with self._system.open_input_stream(f"{self._path}/{name}") as file:
            return bytes(file.read())

    def create(self, name: str, content: bytes) -> bool:
        """See `Folder`."""
        final = f"{self._path}/{name}"
        self._system.create_dir(self._path, recursive=True)
        temporary = f"{self._path}/.{name}.{uuid.uuid4().hex[:8]}{TEMPORARY}"
        with self._system.open_output_stream(temporary) as file:
            file.write(content)
        try:
            if self._system.get_file_info(final).type is not fs.FileType.NotFound:
                return False
            self._system.move(temporary, final)
        finally:
            if self._system.get_file_info(temporary).type is not fs.FileType.NotFound:
                self._system.delete_file(temporary)
        return self.read(name) == content

    def remove(self, name: str) -> None:
        """See `Folder`."""
        path = f"{self._path}/{name}"
        kind = self._system.get_file_info(path).type
        if kind is fs.FileType.Directory:
            self._system.delete_dir(path)
        elif kind is not fs.FileType.NotFound:
            self._system.delete_file(path)

    def below(self, name: str) -> Folder:
        """See `Folder`."""
        return ArrowFolder(self._system, f"{self._path}/{name}")


def absolute(option: str, text: str) -> str:
    """`text`, a path or URL, so that it means the same wherever it is read. Raises `SettingError`."""
    found = _SCHEME.match(text)
    if found is None:
        return str(Path(text).expanduser().absolute())
    scheme, rest = found[1].lower(), text[found.end() :]
    if scheme in SCHEMES:
        return checked_url(option, text)
    if scheme != "file":
        return text
    path = "/" + rest.lstrip("/") if not rest.startswith("//") or rest.startswith("///") else ""
    if path in ("", "/"):
        raise SettingError(f"option {option} = {text!r}: names no folder; write file:///folder")
    return path


def open_folder(option: str, place: str, options: ObjectStoreOptions = NONE) -> Folder:
    """The folder at `place`, as `absolute` gives it. Raises `SettingError` when nothing here opens it."""
    scheme = _SCHEME.match(place)
    if scheme is None:
        return LocalFolder(Path(place))
    if scheme[1] in SCHEMES:
        return open_objects(option, place, options)
    try:
        system, path = fs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise SettingError(
            f"option {option} = {place!r}: pyarrow cannot open it: {problem}; give commitPath a folder that "
            "the driver can write and tasks can read"
        ) from None
    return ArrowFolder(system, path)

"""The catalog of the dispatcher's Iceberg tables, and files of theirs that a loss of power spares."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pyarrow.fs import LocalFileSystem
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io import OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table

from mqframe.core.errors import MqframeError, RetryError
from mqframe_spark.durable_file import sync_folder
from mqframe_spark.lake.parquet_options import CATALOG_FILE

CATALOG_NAME: Final = "mqframe"


class IcebergFailed(RetryError):
    """A call to an Iceberg catalog or table failed; what it was to do may have been done or not."""


@contextlib.contextmanager
def failing_as(what: str) -> Iterator[None]:
    """Raise `IcebergFailed`, which names `what`, for anything else than an error of mqframe."""
    try:
        yield
    except MqframeError:
        raise
    # Each kind of catalog raises what its own client does.
    except Exception as problem:
        raise IcebergFailed(f"{what}: {type(problem).__name__}: {problem}") from problem


def open_catalog(root: Path, properties: Mapping[str, str]) -> Catalog:
    """The catalog that `properties` tell; with none of them one of SQLite in `root`, with its tables there.

    `properties`: pyiceberg's own, and `name`, under which pyiceberg's configuration may have more of them.
    Raises `IcebergFailed`.
    """
    with failing_as(f"the Iceberg catalog {properties.get('name') or root / CATALOG_FILE}"):
        if properties:
            more = {name: value for name, value in properties.items() if name != "name"}
            return load_catalog(properties.get("name", CATALOG_NAME), **more)
        root.mkdir(parents=True, exist_ok=True)
        place = root.absolute()
        return load_catalog(
            CATALOG_NAME,
            **{
                "type": "sql",
                "uri": f"sqlite:///{place / CATALOG_FILE}",
                "warehouse": f"file://{place}",
                "py-io-impl": f"{DurableFileIO.__module__}.{DurableFileIO.__qualname__}",
            },
        )


class IcebergPlace:
    """The tables of `namespace`, names with points between, of the catalog that `open_catalog` opens."""

    def __init__(self, root: Path, properties: Mapping[str, str], namespace: str) -> None:
        self.root = None if properties else root.absolute()
        """Where new tables lie; with none the catalog decides."""
        self.catalog: Catalog = open_catalog(root, properties)
        self.namespace = tuple(namespace.split("."))

    def topics(self) -> list[str]:
        """What tables there are. Raises `IcebergFailed`."""
        with failing_as(f"the Iceberg namespace {'.'.join(self.namespace)}"):
            return sorted(name[-1] for name in self.catalog.list_tables(self.namespace))

    def load(self, topic: str) -> Table:
        """The table of `topic` as it is now. Raises what the catalog raises."""
        return self.catalog.load_table((*self.namespace, topic))


class DurableFileIO(PyArrowFileIO):
    """pyiceberg's own, but a local file is on the disk when it is closed: catalogs name what is there."""

    def new_output(self, location: str) -> PyArrowFile:
        """Where a new file goes."""
        scheme, _, path = self.parse_location(location)
        return _LocalFile(location, Path(path)) if scheme == "file" else super().new_output(location)


class _LocalFile(PyArrowFile):
    def __init__(self, location: str, path: Path) -> None:
        super().__init__(location, str(path), LocalFileSystem())
        self._there = path

    def create(self, overwrite: bool = False) -> OutputStream:
        """The stream to write to. Raises `FileExistsError` unless it may `overwrite`."""
        self._there.parent.mkdir(parents=True, exist_ok=True)
        return _Flushed(io.FileIO(self._there, "wb" if overwrite else "xb"), self._there)


class _Flushed(io.BufferedWriter):
    def __init__(self, raw: io.FileIO, path: Path) -> None:
        super().__init__(raw)
        self._path = path

    def close(self) -> None:
        if self.closed:
            return
        try:
            self.flush()
            os.fsync(self.fileno())
        finally:
            super().close()
        sync_folder(self._path.parent)

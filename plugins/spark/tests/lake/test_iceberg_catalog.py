"""Files of Iceberg tables are on the disk before a catalog names them; failures say what failed."""

import os

import pytest
from file_calls import instead

from mqframe.core.errors import RetryError, SettingError

pytest.importorskip("pyiceberg")

from mqframe_spark.lake.iceberg_catalog import (
    DurableFileIO,
    IcebergFailed,
    failing_as,
    open_catalog,
)


def test_a_local_file_is_flushed_with_its_folder_before_it_is_closed(tmp_path, monkeypatch) -> None:
    flushed = []

    def seen(sync, descriptor: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    instead(monkeypatch, tmp_path, "fsync", seen)
    place = tmp_path / "new" / "file"
    with DurableFileIO().new_output(f"file://{place}").create() as stream:
        stream.write(b"all of it")
    assert flushed == [str(place), str(place.parent)]
    assert place.read_bytes() == b"all of it"


def test_a_file_is_written_over_only_when_told(tmp_path) -> None:
    output = DurableFileIO().new_output(f"file://{tmp_path}/file")
    with output.create() as stream:
        stream.write(b"first")
    with pytest.raises(FileExistsError):
        output.create()
    with output.create(overwrite=True) as stream:
        stream.write(b"then")
    assert output.to_input_file().open().read() == b"then"


def test_the_catalog_of_a_folder_uses_it(tmp_path) -> None:
    catalog = open_catalog(tmp_path / "a b", {})
    assert (tmp_path / "a b" / "catalog.db").exists()
    assert catalog.properties["py-io-impl"].endswith(".DurableFileIO")


def test_failures_are_told_by_what_was_done_and_own_errors_stay(tmp_path) -> None:
    with pytest.raises(IcebergFailed, match="the table x: KeyError: 'y'") as told, failing_as("the table x"):
        raise KeyError("y")
    assert isinstance(told.value, RetryError)
    with pytest.raises(SettingError, match="as it was"), failing_as("the table x"):
        raise SettingError("as it was")

"""Old snapshots of an Iceberg table, and files in its folders that no snapshot needs.

pyiceberg expires snapshots, but leaves their files. A file goes when it is older than the snapshots that are
kept may be, and no metadata that is kept names it; so go files of commits that were never done, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from pyarrow.fs import FileSelector, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

_FOLDERS: Final = ("data", "metadata")


def vacuum_table(table: Table, until: float, *, dry_run: bool) -> list[str]:
    """Expire what is older than `until`, s since 1970, and remove files; gives their places.

    With `dry_run` nothing is changed. Raises what catalog and file system raise.
    """
    named = {reference.snapshot_id for reference in table.refs().values()}
    over = [
        snapshot.snapshot_id
        for snapshot in table.snapshots()
        if snapshot.timestamp_ms < until * 1000 and snapshot.snapshot_id not in named
    ]
    if over and not dry_run:
        table.maintenance.expire_snapshots().by_ids(over).commit()
        table.refresh()
        over = []
    files = PyArrowFileIO(table.io.properties)
    needed = {files.parse_location(place, files.properties) for place in _needed(table, over)}
    gone = []
    for place in _older(files, table.location(), until):
        if files.parse_location(place, files.properties) not in needed:
            gone.append(place)
            if not dry_run:
                files.delete(place)
    return gone


def _needed(table: Table, over: Collection[int]) -> Iterator[str]:
    """Places of all files that the table has without the snapshots `over`."""
    metadata = table.metadata
    yield table.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (each.statistics_path for each in metadata.statistics)
    yield from (each.statistics_path for each in metadata.partition_statistics)
    seen = set()
    for snapshot in table.snapshots():
        if snapshot.snapshot_id in over:
            continue
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            yield manifest.manifest_path
            for entry in manifest.fetch_manifest_entry(table.io):
                yield entry.data_file.file_path


def _older(files: PyArrowFileIO, location: str, until: float) -> Iterator[str]:
    """Places of the files in the folders of the table at `location` that were last written before `until`."""
    scheme, host, path = files.parse_location(location, files.properties)
    system = files.fs_by_scheme(scheme, host)
    for folder in _FOLDERS:
        chosen = FileSelector(f"{path}/{folder}", allow_not_found=True, recursive=True)
        for found in system.get_file_info(chosen):
            if found.type == FileType.File and found.mtime.timestamp() < until:
                yield location + found.path.removeprefix(path)

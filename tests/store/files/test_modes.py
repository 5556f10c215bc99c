"""Nobody else may read what a broker, a name server or the tests' store writes."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncProducer, Message
from mqframe.store.files import modes
from mqframe.store.files.modes import file_mode, folder_mode, make_folder, umask, use_mode


@pytest.fixture(autouse=True)
def _as_before():
    before, mask = file_mode(), os.umask(0o022)
    yield
    use_mode(f"{before:o}")
    os.umask(mask)


@pytest.mark.parametrize(
    ("text", "file", "folder", "mask"),
    [("600", 0o600, 0o700, 0o077), ("640", 0o640, 0o750, 0o027), ("0644", 0o644, 0o755, 0o022)],
)
def test_who_may_read_a_file_may_enter_its_folder(text, file, folder, mask):
    use_mode(text)
    assert (file_mode(), folder_mode(), umask()) == (file, folder, mask)


def test_all_folders_on_the_way_are_made_for_their_owner_only(tmp_path):
    make_folder(tmp_path / "a" / "b" / "c")
    make_folder(tmp_path / "a" / "b" / "c")
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"):
        assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("mode", "file", "folder"), [("600", 0o600, 0o700), ("640", 0o640, 0o750)])
async def test_a_whole_system_writes_with_the_permissions_of_its_settings(tmp_path, mode, file, folder):
    root = tmp_path / "system"

    def check() -> None:
        found = {}
        for path in (root, *root.rglob("*")):
            # The next file of the log is made in a thread, and is called otherwise when it is whole.
            with contextlib.suppress(FileNotFoundError):
                found[path] = path.stat().st_mode
        assert sum(map(stat.S_ISREG, found.values())) > 15
        wrong = [
            (str(path.relative_to(root)), oct(mode & 0o777))
            for path, mode in found.items()
            if mode & 0o777 != (folder if stat.S_ISDIR(mode) else file)
        ]
        assert wrong == []

    clock = ManualClock()
    names = {"directory": root / "names", "file_mode": mode}
    store = {"file_mode": mode, "commit_log_file_bytes": 8192}
    async with AsyncCluster(clock=clock, directory=root, store=store, nameserver=names) as cluster:
        await cluster.create_topic("t", 2)
        cluster.name_server._kv.put("n", "k", "v")
        async with AsyncProducer("g", nameserver=cluster.nameserver, clock=clock) as producer:
            for number in range(30):
                await producer.send(Message("t", b"x" * 800, keys=(f"k{number}",)))
            await producer.send(Message("t", b"later"), delay=5)
            await producer.send(Message("t", b"level"), delay_level=1)
        await clock.aadvance(12)
        await cluster.restart_broker()
        await clock.aadvance(12)
        check()
    check()


def test_a_folder_that_others_may_look_into_is_told(tmp_path, caplog):
    tmp_path.chmod(0o700)
    modes.warn_if_open(tmp_path)
    assert caplog.records == []
    tmp_path.chmod(0o755)
    modes.warn_if_open(Path(tmp_path))
    (record,) = caplog.records
    assert "chmod -R go-rwx" in record.getMessage()

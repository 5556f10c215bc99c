from __future__ import annotations

import json

import pytest

from mqframe.store.files.config_file import ConfigFile


@pytest.fixture
def file(tmp_path):
    return ConfigFile(tmp_path / "config" / "topics.json")


def test_missing(file):
    assert file.load(json.loads) is None


def test_saved_is_loaded_and_the_former_is_kept(file):
    file.save(b'{"a":1}')
    assert file.load(json.loads) == {"a": 1}
    assert not file.backup.exists()
    file.save(b'{"a":2}')
    assert file.load(json.loads) == {"a": 2}
    assert file.backup.read_bytes() == b'{"a":1}'
    assert sorted(path.name for path in file.path.parent.iterdir()) == ["topics.json", "topics.json.bak"]


@pytest.mark.parametrize("broken", [b"", b"  \n", b'{"a":', b"\xff\xfe", None])
def test_backup_stands_in(file, broken):
    file.save(b'{"a":1}')
    file.save(b'{"a":2}')
    if broken is None:
        file.path.unlink()
    else:
        file.path.write_bytes(broken)
    assert file.load(json.loads) == {"a": 1}
    file.save(b'{"a":3}')
    assert file.load(json.loads) == {"a": 3}


def test_both_broken(file):
    file.save(b"1")
    file.save(b"2")
    file.path.write_bytes(b"{")
    file.backup.write_bytes(b"}")
    assert file.load(json.loads) is None

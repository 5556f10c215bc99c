from __future__ import annotations

import json

import pytest

from mqframe.core.errors import StoreError
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


@pytest.mark.parametrize(
    ("main", "backup"),
    [
        (b"{", b"}"),
        (b"{", None),
        (None, b"{"),
        (b"", b""),
        (b"", b"{"),
        (b"[" * 100_000, b"\xff"),
        (None, b" "),
    ],
)
def test_what_was_kept_and_cannot_be_read_is_said_and_left_as_it_is(file, main, backup):
    file.path.parent.mkdir()
    for path, content in ((file.path, main), (file.backup, backup)):
        if content is not None:
            path.write_bytes(content)
    with pytest.raises(
        StoreError, match=r"(broken|empty).*Put a copy of topics\.json from elsewhere"
    ) as told:
        file.load(json.loads)
    for path, content in ((file.path, main), (file.backup, backup)):
        assert path.exists() is (content is not None)
        assert (str(path) + " is" in str(told.value)) is (content is not None)


def test_a_first_save_that_was_cut_off_is_none(file):
    file.path.parent.mkdir()
    file.path.write_bytes(b"")
    assert file.load(json.loads) is None


def test_a_disk_that_fails_is_no_damage(file):
    file.path.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        file.load(json.loads)

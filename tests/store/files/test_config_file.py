from __future__ import annotations

import json
import os

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
    names = ["topics.json", "topics.json.bak", "topics.json.sum"]
    assert sorted(path.name for path in file.path.parent.iterdir()) == names


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


def flip(path, old=b"2", new=b"3", *, keep_time=True):
    """Change a byte of the file at `path`; with its time, as damage of the disk does."""
    found = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns if keep_time else found.st_mtime_ns + 10**9))


def apache_saves(file, content):
    """Save as Apache RocketMQ does (source: MixAll.string2File)."""
    fresh = file.path.with_name("topics.json.tmp")
    fresh.write_bytes(content)
    if file.path.exists():
        file.backup.write_bytes(file.path.read_bytes())
        file.path.unlink()
    fresh.rename(file.path)
    later = file.path.stat().st_mtime_ns + 10**9
    for path in (file.path, file.backup):
        if path.exists():
            os.utime(path, ns=(later, later))


@pytest.mark.parametrize("keep_time", [True, False])
def test_a_flipped_digit_is_not_believed_and_the_copy_stands_in(file, keep_time, caplog):
    file.save(b'{"a":1}')
    file.save(b'{"a":2}')
    flip(file.path, keep_time=keep_time)
    assert file.load(json.loads) == {"a": 1}
    assert "it is not what was saved" in caplog.text
    file.save(b'{"a":4}')
    assert file.load(json.loads) == {"a": 4}
    assert file.backup.read_bytes() == b'{"a":1}'
    assert file.rejected.read_bytes() == b'{"a":3}'  # it is there for whoever meant it
    again = ConfigFile(file.path)
    again.save(b'{"a":5}')
    assert (again.load(json.loads), again.backup.read_bytes()) == ({"a": 5}, b'{"a":4}')


def test_a_flipped_digit_of_the_copy_is_not_believed_either(file):
    file.save(b'{"a":1}')
    file.save(b'{"a":2}')
    flip(file.backup, b"1", b"9")
    assert file.load(json.loads) == {"a": 2}
    file.path.unlink()
    with pytest.raises(
        StoreError, match=r"\.bak is broken: it is not what was saved.*remove topics\.json\.sum"
    ):
        file.load(json.loads)


@pytest.mark.parametrize("keep_time", [True, False])
def test_a_flipped_digit_without_a_copy_is_told_and_taken_by_whoever_says_so(file, keep_time):
    file.save(b'{"a":2}')
    flip(file.path, keep_time=keep_time)
    with pytest.raises(StoreError, match=r"remove topics\.json\.sum"):
        file.load(json.loads)
    file.path.with_name("topics.json.sum").unlink()
    assert file.load(json.loads) == {"a": 3}


@pytest.mark.parametrize("saves", [1, 2, 3])
@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("same", [True, False])
def test_what_another_broker_has_saved_since_is_believed(file, saves, before, same):
    for number in range(before):
        file.save(b'{"a":%d}' % (0 if same else number))
    for number in range(saves):
        apache_saves(file, b'{"a":%d}' % (5 + number))
        assert file.load(json.loads) == {"a": 5 + number}
    file.path.unlink()
    assert file.load(json.loads) == {"a": 3 + saves if saves > 1 else 0 if same else before - 1}
    apache_saves(file, b'{"a":8}')
    file.save(b'{"a":9}')
    flip(file.path, b"9", b"7")
    assert file.load(json.loads) == {"a": 8}


def test_what_was_changed_by_hand_to_another_size_is_believed(file):
    file.save(b'{"a":1}')
    file.save(b'{"a":2}')
    file.path.write_bytes(b'{"a":12}')
    assert file.load(json.loads) == {"a": 12}


@pytest.mark.parametrize("step", range(4))
def test_a_save_that_is_cut_off_leaves_what_is_believed(file, step, monkeypatch):
    file.save(b'{"a":1}')
    file.save(b'{"a":2}')
    done = []

    def replace(*names):
        if len(done) == step:
            raise OSError("the power fails")
        done.append(names)
        os.rename(*names)

    monkeypatch.setattr(os, "replace", replace)
    if step < 3:
        with pytest.raises(OSError, match="the power fails"):
            file.save(b'{"a":3}')
    else:
        file.save(b'{"a":3}')
    assert file.load(json.loads) == {"a": 3 if step == 3 else 2}
    assert ConfigFile(file.backup).load(json.loads) == {"a": 2 if step > 1 else 1}
    if file.path.exists():
        file.path.unlink()
    assert file.load(json.loads) == {"a": 2 if step > 1 else 1}


@pytest.mark.parametrize(
    "damage", [lambda raw: b"", lambda raw: raw[:9], lambda raw: raw.replace(b"former", b"farmer")]
)
def test_damaged_checksums_say_nothing(file, damage):
    file.save(b'{"a":1}')
    file.save(b'{"a":2}')
    sums = file.path.with_name("topics.json.sum")
    sums.write_bytes(damage(sums.read_bytes()))
    assert file.load(json.loads) == {"a": 2}
    file.save(b'{"a":3}')
    flip(file.path, b"3", b"4")
    assert file.load(json.loads) == {"a": 2}

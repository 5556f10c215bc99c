"""Files that commands write because somebody named them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from mqframe_cli.text.output_file import is_replaceable, is_standard_output, output_file


def write(path: Path, content: bytes, **more: int) -> None:
    with output_file(path, **more) as file:
        file.write(content)


def test_a_file_is_as_before_until_all_is_written_and_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"former")
    seen = []

    def fail() -> None:
        with output_file(path) as file:
            file.write(b"half")
            file.flush()
            seen.append(path.read_bytes())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert seen == [b"former"]
    assert path.read_bytes() == b"former"
    write(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode_as_far_as_it_may(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, b"new", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write(path, b"again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    write(path, b"again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    write(path, b"again", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_must_not_be_written_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"former")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, as whom tests may run, may write to all files
    with pytest.raises(PermissionError):
        write(path, b"new")
    assert path.read_bytes() == b"former"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_to_a_file_that_is_there_or_not_yet(tmp_path: Path, there: bool) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder/target"
    if there:
        target.write_bytes(b"former")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to(target)
    write(tmp_path / "first", b"new")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert list((tmp_path / "folder").iterdir()) == [target]


def test_a_device_is_written_to_also_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    for path in (Path("/dev/null"), link):
        write(path, b"away")
        assert path.is_char_device()
    assert list(tmp_path.iterdir()) == [link]
    with pytest.raises(OSError, match="No space left"):
        write(Path("/dev/full"), b"no room")


def test_what_is_open_is_added_to_by_the_name_of_its_descriptor(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb", buffering=0) as open_file:
        open_file.write(b"before,")
        write(Path(f"/dev/fd/{open_file.fileno()}"), b"after")
    assert (tmp_path / "log").read_bytes() == b"before,after"


def test_what_can_be_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, wanted in {"pipe": False, "new": True, ".": True}.items():
        assert is_replaceable(tmp_path / name) is wanted
    assert not is_replaceable(Path("/dev/stderr"))
    assert is_replaceable(Path("/dev/shm/name"))


def test_a_folder_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write(tmp_path / "folder", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_standard_output_is_known_by_any_of_its_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with capfd.disabled():
        assert is_standard_output(Path("/dev/stdout"))
        (tmp_path / "link").symlink_to("/dev/stdout")
        assert is_standard_output(tmp_path / "link")
        assert not is_standard_output(tmp_path / "new")
        assert not is_standard_output(tmp_path)

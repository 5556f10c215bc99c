"""The file of contexts."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from mqframe_cli.contexts.file import Context, Contexts, contexts_path, read_contexts, write_contexts

from mqframe.core.errors import SettingError


def test_contexts_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "below" / "contexts.json"
    assert read_contexts(path) == Contexts()
    contexts = Contexts({"prod": Context("a:1;b:1", {"net.tls": "true"})}, "prod")
    write_contexts(path, contexts)
    assert read_contexts(path) == contexts
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["contexts.json"]


@pytest.mark.parametrize("text", ["", "[]", '{"contexts": {"prod": {}}}', '{"contxts": {}}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "contexts.json"
    path.write_text(text)
    with pytest.raises(SettingError, match=r"contexts in .*contexts\.json cannot be read"):
        read_contexts(path)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be written to"):
        write_contexts(tmp_path / "file" / "contexts.json", Contexts())


def test_a_misspelt_context() -> None:
    contexts = Contexts({"prod": Context("a:1")})
    assert contexts.named("prod").nameserver == "a:1"
    with pytest.raises(SettingError, match="there is no context prd; did you mean prod"):
        contexts.named("prd")


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MQFRAME_CONTEXTS", "/etc/clusters.json")
    assert contexts_path() == Path("/etc/clusters.json")
    monkeypatch.delenv("MQFRAME_CONTEXTS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert contexts_path() == tmp_path / "mqframe/contexts.json"


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    link = tmp_path / "contexts.json"
    link.symlink_to("kept/clusters.json")
    for address in ("a:1", "b:1"):
        write_contexts(link, Contexts({"prod": Context(address)}))
        assert link.is_symlink()
        assert read_contexts(tmp_path / "kept/clusters.json").named("prod").nameserver == address
    (tmp_path / "kept/clusters.json").chmod(0o644)
    write_contexts(link, Contexts())
    assert stat.S_IMODE(link.stat().st_mode) == 0o600


def test_a_device_is_no_file_to_replace(tmp_path: Path) -> None:
    link = tmp_path / "contexts.json"
    link.symlink_to("/dev/null")
    write_contexts(link, Contexts({"prod": Context("a:1")}))
    assert link.is_char_device()

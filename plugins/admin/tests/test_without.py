"""Programs where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_cli.settings.configuration import load
from without import offers_without

NAME = "mqframe-plugin-admin"


@pytest.mark.parametrize("program", ["server", "broker", "nameserver"])
def test_servers_pass_over_what_clients_of_administration_are_told(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: offers_without(NAME))
    file = tmp_path / "mqframe.toml"
    file.write_text("[admin]\ntimeout_ms = 5\n")
    assert load(program, {}, file, (), {}).passed_over

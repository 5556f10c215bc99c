"""A broker where the distribution is not installed, or is left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mqframe_assignment.requests import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode
from mqframe_assignment.rules.bodies import QueryAssignmentBody, RequestModeBody
from mqframe_cli.settings.configuration import load
from mqframe_testing.cluster_scene import ClusterScene
from without import offers_without, without

from mqframe import SettingError
from mqframe.core.codes import ResponseCode
from mqframe.core.requests import Request
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import dumps

NAME = "mqframe-plugin-assignment"
LINE = f'pip install "mqframe[standard]"; it alone: pip install {NAME}'


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"plugins": without(NAME)}, f": {NAME} is not installed there; install it with: {LINE}"),
        ({"broker": {"services_blocked": ("assignment",)}}, ""),
    ],
    ids=["not installed", "left out"],
)
@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (QueryAssignment(), QueryAssignmentBody("t", "g", "c")),
        (SetMessageRequestMode(), RequestModeBody("t", "g", "POP")),
        (GetAllMessageRequestMode(), None),
    ],
    ids=["400", "401", "402"],
)
async def test_its_requests_are_refused_with_what_is_to_be_done(
    request_: Request, body: Body | None, options: dict[str, Any], why: str
) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        answer = await world.client.invoke(request_, b"" if body is None else dumps(body))
        assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert answer.remark == f"request code {request_.CODE} is not supported{why}"


@pytest.mark.parametrize("name", ["assignment.request_mode", "broker.request_mode"])
def test_its_settings_are_refused_where_it_is_not_installed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section, _, key = name.partition(".")
    file = tmp_path / "server.toml"
    file.write_text(f'[{section}]\n{key} = "POP"\n')
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: offers_without(NAME))
    with pytest.raises(SettingError, match=rf"{section}\.{key}"):
        load("broker", {}, file, (), {})


STARTS = """
import asyncio, sys
from mqframe_testing.cluster import AsyncCluster
from without import without

async def serve():
    async with AsyncCluster(plugins=without(sys.argv[1])):
        pass

asyncio.run(serve())
print(*(name for name in sys.modules if name.startswith("mqframe_assignment.broker")))
"""


def test_no_broker_part_is_loaded_where_it_is_not_installed() -> None:
    words = [sys.executable, "-c", STARTS, NAME]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == []

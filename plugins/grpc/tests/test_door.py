from __future__ import annotations

import pytest
from doors import DoorScene
from mqframe_grpc.door import SERVICE, Door
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m

from mqframe.core.errors import SettingError


async def test_every_rpc_but_one_is_served() -> None:
    async with DoorScene() as scene:
        served = scene.door.methods()
        assert {path.removeprefix(SERVICE) for path in m.METHODS.keys() - served.keys()} == {
            "SyncLiteSubscription"
        }
        for path, method in served.items():
            assert method.asked is m.METHODS[path][0]


@pytest.mark.parametrize("text", ["mq.example", "mq.example:", ":80", "mq.example:http", "mq:70000"])
async def test_an_address_that_is_none_is_refused(text: str) -> None:
    async with DoorScene() as scene:
        backend = await scene.backend()
        with pytest.raises(SettingError, match="advertised"):
            Door(backend, scene.clock, GrpcOptions(advertised=text))

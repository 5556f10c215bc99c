"""Requests that users sign, and a broker that asks who does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mqframe_acl import AclHook, AclOptions
from twins import Scene, Wire, opened, service_of

from mqframe.core.requests import encode_fields
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame
from mqframe.net.access.settings import AccessSettings
from mqframe.net.async_peer import AsyncPeer

ACL2 = AccessSettings(authentication="acl2", authorization="acl2", initial_user="admin:secret")


def signed(raw: bytes, user: str = "shop", secret: str = "secret", **more: Any) -> bytes:
    """The frame `raw` once `user` has signed it. `more`: other header fields, which are signed as well."""
    frame = frame_of(raw)
    frame.ext = {**(frame.ext or {}), **more}
    AclHook(AclOptions(access_key=user, secret_key=secret)).before("", frame)
    return encode_frame(frame)


def frame_of(raw: bytes) -> Frame:
    decoder = FrameDecoder()
    decoder.receive(raw)
    frame = decoder.next_frame()
    assert frame is not None
    return frame


def by_admin(request: Any, body: object = None) -> bytes:
    """A request of the one who may do everything."""
    content = b"" if body is None else json.dumps(body).encode()
    frame = Frame(request.CODE, 9_000_000, 0, None, encode_fields(request), content, "JAVA", 479)
    return signed(encode_frame(frame), "admin")


class Heard(NamedTuple):
    """What came of the reads of one connection; `native`, `given`: messages by compiled code."""

    answers: bytes
    native: int
    given: int


async def hear(scene: Scene, reads: Sequence[bytes], port: int) -> Heard:
    """What comes of `reads` of a new connection."""
    before = counted(scene)
    peer, wire = AsyncPeer(scene.peer._group), Wire((scene.wire.address[0], port))
    peer.connection_made(wire)  # type: ignore[arg-type]
    for read in reads:
        peer.data_received(read)
        await scene.settle()
    native, given = (new - old for new, old in zip(counted(scene), before, strict=True))
    return Heard(wire.written, native, given)


def counted(scene: Scene) -> list[int]:
    shown = service_of(scene.broker).counters()
    return [int(shown.get(f"speedups.{what}", 0)) for what in ("sends", "pulls")]


async def heard(
    directory: Path, talks: Sequence[Sequence[bytes]], access: AccessSettings = ACL2, **sections: Any
) -> tuple[list[Heard], bytes, dict[str, str]]:
    """What came of each of `talks`, the log, and how many requests were refused."""
    async with opened(directory, access=access, **sections) as scene:
        found = [await hear(scene, reads, 5000 + at) for at, reads in enumerate(talks)]
        files, end = scene.broker.store.files.log.files, scene.broker.store.log.max_offset
        log = b"".join(bytes(file.view[: min(file.size, end - file.base)]) for file in files)
        return found, log, scene.broker._listeners.refused()


async def heard_by_both(
    tmp_path: Path, monkeypatch: Any, talks: Sequence[Sequence[bytes]], **sections: Any
) -> tuple[list[Heard], dict[str, str]]:
    """As `heard`, once a broker without compiled code did the same to the byte."""
    found, log, refused = await heard(tmp_path / "short", talks, **sections)
    with monkeypatch.context() as patched:
        patched.setenv("MQFRAME_SPEEDUPS", "0")
        others, other_log, other_refused = await heard(tmp_path / "long", talks, **sections)
    for at, (one, other) in enumerate(zip(found, others, strict=True)):
        assert one.answers == other.answers, at
        assert other.native == other.given == 0
    assert (log, refused) == (other_log, other_refused)
    return found, refused

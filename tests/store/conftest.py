"""Stores in temporary folders, and the two that a real broker wrote."""

from __future__ import annotations

import json
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from indexed import LOG_READING, small_index
from mqframe_testing.manual_clock import ManualClock

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

DATA = Path(__file__).parents[1] / "data" / "store"
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"


@pytest.fixture(scope="session")
def small() -> Callable[..., StoreSettings]:
    """Settings with the file sizes of the recorded stores (their broker.conf), disk limits off."""

    def make(directory: Path, **changes: Any) -> StoreSettings:
        values: dict[str, Any] = {
            "directory": directory,
            "commit_log_file_bytes": 1 << 20,
            "queue_file_bytes": 20_000,
            "disk_limits": False,
        }
        return StoreSettings(**(values | changes))

    return make


@pytest.fixture(scope="session")
def message() -> Callable[..., Incoming]:
    """Makes messages; keyword arguments in capitals are properties."""

    def make(topic: str = "t", queue_id: int = 0, body: bytes = b"hello", **more: Any) -> Incoming:
        properties = "".join(f"{n}\x01{v}\x02" for n, v in more.items() if n.isupper())
        rest = {n: v for n, v in more.items() if not n.isupper()}
        return Incoming(topic, queue_id, body, properties, 1000, HOST, HOST, **rest)

    return make


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def opened(
    small: Callable[..., StoreSettings], clock: ManualClock, tmp_path: Path
) -> Iterator[Callable[..., MessageStore]]:
    """Opens stores (below `tmp_path`/store unless said) and lets go of them in the end."""
    stores: list[MessageStore] = []

    def open_store(
        directory: Path | None = None,
        *,
        options: dict[str, Any] | None = None,
        index_entries: int = 4000,
        **changes: Any,
    ) -> MessageStore:
        settings = small(directory or tmp_path / "store", **changes)
        index = small_index(entries=index_entries)
        store = MessageStore.open(
            settings, clock, **({"open_index": index, "log_reading": LOG_READING} | (options or {}))
        )
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.abandon()


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was synced, and which names were made and removed below `tmp_path`, in this order."""
    done: list[str] = []

    def note(name: str, path: str | os.PathLike[str]) -> None:
        if Path(path).is_relative_to(tmp_path):
            done.append(f"{name} {Path(path).relative_to(tmp_path).as_posix()}")

    def synced(name: str) -> None:
        real: Callable[[int], None] = getattr(os, name)

        def call(descriptor: int) -> None:
            note(name, os.readlink(f"/proc/self/fd/{descriptor}"))
            real(descriptor)

        monkeypatch.setattr(os, name, call)

    def renamed(name: str) -> None:
        real: Callable[..., None] = getattr(os, name)

        def call(*paths: Any) -> None:
            note(name, paths[-1])
            real(*paths)

        monkeypatch.setattr(os, name, call)

    for name in ("fsync", "fdatasync"):
        synced(name)
    for name in ("replace", "rename", "unlink"):
        renamed(name)
    return done


@pytest.fixture(params=["clean", "killed"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A store as Apache RocketMQ 5.3.3 left it, unpacked, and what it holds."""
    name = request.param
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    with lzma.open(DATA / f"{name}.manifest.json.xz") as file:
        return tmp_path / name, json.load(file)

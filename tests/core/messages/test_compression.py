"""Bodies packed and unpacked."""

from __future__ import annotations

import importlib
import io
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyUnreadable, FixError, GiveUpError
from mqframe.core.messages.compression import Compression, compress, decompress

PACKAGES = {Compression.LZ4: "lz4.frame", Compression.ZSTD: "zstandard"}


def installed(kind: Compression) -> bool:
    try:
        importlib.import_module(PACKAGES.get(kind, "zlib"))
    except ImportError:
        return False
    return True


KINDS = [kind for kind in Compression if installed(kind)]


@pytest.mark.parametrize("kind", KINDS)
@given(st.binary(max_size=300))
def test_what_is_packed_is_unpacked_by_its_flags(kind: Compression, body: bytes) -> None:
    packed, flags = compress(body, kind)
    assert flags & SysFlag.COMPRESSED
    assert flags & SysFlag.COMPRESSION_MASK == kind.value
    assert decompress(packed, flags) == body


def test_a_flag_without_a_kind_means_zlib() -> None:
    assert decompress(zlib.compress(b"body"), SysFlag.COMPRESSED) == b"body"


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bodies_are_given_up(kind: Compression) -> None:
    packed, flags = compress(b"body" * 100, kind)
    with pytest.raises(GiveUpError, match=r"compressed body of \d+ bytes is damaged"):
        decompress(b"\xff" + packed[1:], flags)


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_that_are_cut_short_are_given_up(kind: Compression) -> None:
    packed, flags = compress(bytes(range(256)) * 100, kind)
    for size in (len(packed) - 1, len(packed) // 2, 0):
        with pytest.raises(BodyUnreadable, match=r"compressed body of \d+ bytes is damaged"):
            decompress(packed[:size], flags)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_a_body_may_be_as_large_as_allowed_and_no_larger(kind: Compression, size: int) -> None:
    packed, flags = compress(b"x" * size, kind)
    assert decompress(packed, flags, size) == b"x" * size
    if size > 1:
        with pytest.raises(
            BodyUnreadable, match=f"unpacks to more than {size - 1} bytes.*unpacked_bytes_max"
        ):
            decompress(packed, flags, size - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_takes_no_memory(kind: Compression) -> None:
    packed, flags = compress(bytes(256 << 20), kind)
    tracemalloc.start()
    try:
        with pytest.raises(BodyUnreadable, match="unpacks to more than 1000 bytes"):
            decompress(packed, flags, 1000)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
        with pytest.raises(BodyUnreadable, match="unpacks to more than 67108864 bytes"):
            decompress(packed, flags)
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(Compression.ZSTD not in KINDS, reason="zstandard is not installed")
@pytest.mark.parametrize("size", [0, 10, 1 << 20])
def test_frames_of_zstd_streams_do_not_say_how_long_they_are(size: int) -> None:
    zstandard = importlib.import_module("zstandard")
    stream = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(stream, closefd=False) as writer:
        writer.write(b"x" * size)
    flags = SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZSTD
    assert decompress(stream.getvalue(), flags, size or 1) == b"x" * size
    if size:
        with pytest.raises(BodyUnreadable, match="unpacks to more than"):
            decompress(stream.getvalue(), flags, size - 1)
        with pytest.raises(BodyUnreadable, match="damaged"):
            decompress(stream.getvalue()[:-1], flags)


def test_an_unknown_kind_is_given_up() -> None:
    with pytest.raises(GiveUpError, match="compression kind 4 in sys flag"):
        decompress(b"", SysFlag.COMPRESSED | 0x400)


@pytest.mark.parametrize("kind", [Compression.LZ4, Compression.ZSTD])
def test_a_missing_package_is_named_with_what_installs_it(kind: Compression, monkeypatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(FixError, match=r'is not installed: pip install "mqframe\[compression\]"'):
        compress(b"body", kind)
    with pytest.raises(FixError, match="is not installed"):
        decompress(b"body", SysFlag.COMPRESSED | kind.value)

"""Bodies packed and unpacked."""

from __future__ import annotations

import importlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.codes import SysFlag
from mqframe.core.errors import FixError, GiveUpError
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

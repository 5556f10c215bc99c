"""Compression of bodies: zlib always, lz4 and zstd where their packages are installed (wire.md §6)."""

from __future__ import annotations

import importlib
import zlib
from enum import Enum
from typing import Any

from mqframe.core.codes import SysFlag
from mqframe.core.errors import FixError, GiveUpError


class Compression(Enum):
    """The compression of a body; the value is what the sys flag says of it."""

    ZLIB = SysFlag.COMPRESSION_ZLIB
    LZ4 = SysFlag.COMPRESSION_LZ4
    ZSTD = SysFlag.COMPRESSION_ZSTD


def compress(body: bytes, kind: Compression, level: int = 5) -> tuple[bytes, int]:
    """`body` packed, and the bits to set in the sys flag.

    Raises `FixError` when the package for `kind` is not installed.
    """
    flags = SysFlag.COMPRESSED | kind.value
    if kind is Compression.ZLIB:
        return zlib.compress(body, level), flags
    if kind is Compression.LZ4:
        return _package("lz4.frame").compress(body), flags
    return _package("zstandard").ZstdCompressor(level=level).compress(body), flags


def decompress(body: bytes, sys_flag: int) -> bytes:
    """The plain body of a message stored with `sys_flag`. Raises `GiveUpError` for damaged data."""
    kind = sys_flag & SysFlag.COMPRESSION_MASK
    try:
        if kind in (0, SysFlag.COMPRESSION_ZLIB):
            return zlib.decompress(body)
        if kind == SysFlag.COMPRESSION_LZ4:
            return bytes(_package("lz4.frame").decompress(body))
        if kind == SysFlag.COMPRESSION_ZSTD:
            return bytes(_package("zstandard").ZstdDecompressor().decompressobj().decompress(body))
    except (zlib.error, RuntimeError, ValueError) as problem:
        raise GiveUpError(f"compressed body of {len(body)} bytes is damaged: {problem}") from problem
    except Exception as problem:
        # zstandard's own error type is known only once its package is imported.
        if type(problem).__module__.partition(".")[0] in ("zstandard", "zstd", "backend_c"):
            raise GiveUpError(f"compressed body of {len(body)} bytes is damaged: {problem}") from problem
        raise
    raise GiveUpError(f"compression kind {kind >> 8} in sys flag {sys_flag:#x} is not known")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise FixError(f'{name} is not installed: pip install "mqframe[compression]"') from None

"""Compression of bodies: zlib always, lz4 and zstd where their packages are installed (wire.md §6)."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyUnreadable, FixError

UNPACKED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes that a compressed body may unpack to, unless its reader says otherwise."""


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
        # Java clients cannot read blocks that refer to earlier ones (LZ4FrameInputStream).
        return _package("lz4.frame").compress(body, block_linked=False), flags
    return _package("zstandard").ZstdCompressor(level=level).compress(body), flags


def decompress(body: bytes, sys_flag: int, bytes_max: int = UNPACKED_BYTES_MAX) -> bytes:
    """The plain body of a message stored with `sys_flag`, at most `bytes_max` long.

    Never more than that is unpacked, whatever the body says of itself. Raises `BodyUnreadable` for damaged
    data, an unknown kind and a larger body, `FixError` when the package for the kind is not installed.
    """
    kind = sys_flag & SysFlag.COMPRESSION_MASK
    unpack = _UNPACK.get(kind)
    if unpack is None:
        raise BodyUnreadable(f"compression kind {kind >> 8} in sys flag {sys_flag:#x} is not known")
    try:
        plain = unpack(body, bytes_max)
    except Exception as problem:
        # zstandard's own error type is known only once its package is imported.
        of_zstandard = type(problem).__module__.partition(".")[0] in ("zstandard", "zstd", "backend_c")
        if of_zstandard or isinstance(problem, zlib.error | RuntimeError | ValueError | EOFError):
            raise BodyUnreadable(f"compressed body of {len(body)} bytes is damaged: {problem}") from problem
        raise
    if plain is None:
        raise BodyUnreadable(
            f"compressed body of {len(body)} bytes unpacks to more than {bytes_max} bytes; where such bodies"
            " are meant, raise client.unpacked_bytes_max"
        )
    return plain


# Each gives the plain body, or `None` for one of more than `most` bytes.


def _unzip(body: bytes, most: int) -> bytes | None:
    unpacker = zlib.decompressobj()
    return _whole(unpacker, unpacker.decompress(body, most + 1), most)


def _unpack_lz4(body: bytes, most: int) -> bytes | None:
    unpacker = _package("lz4.frame").LZ4FrameDecompressor()
    return _whole(unpacker, bytes(unpacker.decompress(body, max_length=most + 1)), most)


def _whole(unpacker: Any, plain: bytes, most: int) -> bytes | None:
    if len(plain) > most:
        return None
    if not unpacker.eof:
        raise ValueError("it is cut short")
    return plain


def _unpack_zstd(body: bytes, most: int) -> bytes | None:
    zstandard = _package("zstandard")
    if zstandard.frame_content_size(body) > most:
        return None
    try:
        return bytes(zstandard.ZstdDecompressor().decompress(body, max_output_size=most))
    except zstandard.ZstdError:
        # A frame of a stream does not say how long it is, nor does the error say that it was too long.
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            if len(reader.read(most + 1)) > most:
                return None
        raise


_UNPACK: Final[dict[int, Callable[[bytes, int], bytes | None]]] = {
    0: _unzip,
    int(SysFlag.COMPRESSION_ZLIB): _unzip,
    int(SysFlag.COMPRESSION_LZ4): _unpack_lz4,
    int(SysFlag.COMPRESSION_ZSTD): _unpack_zstd,
}


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise FixError(f'{name} is not installed: pip install "mqframe[compression]"') from None

"""Addresses as records and ids hold them: 4 or 16 bytes of IP, then the port as four bytes."""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=4096)
def encode_host(address: str) -> bytes:
    """`address` ("ip:port", "[v6]:port") as 8 or 20 bytes. Raises ValueError when it is no address."""
    ip, _, port = address.rpartition(":")
    return ipaddress.ip_address(ip.strip("[]")).packed + int(port).to_bytes(4, "big")


@lru_cache(maxsize=4096)
def decode_host(packed: bytes) -> str:
    """The address that 8 or 20 packed bytes stand for, as "ip:port" or "[v6]:port"."""
    ip = ipaddress.ip_address(packed[:-4])
    port = int.from_bytes(packed[-4:], "big")
    return f"{ip}:{port}" if ip.version == 4 else f"[{ip}]:{port}"

"""Bytes of a client, with something wrong in them."""

from __future__ import annotations

from random import Random


def bent(raw: bytes, chance: Random) -> bytes:
    """`raw` with something wrong in it."""
    changed = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 5, 30))):
        if not changed:
            break
        place = chance.randrange(len(changed))
        match chance.randrange(5):
            case 0:
                changed[place] = chance.randrange(256)
            case 1:
                changed[place] ^= 1 << chance.randrange(8)
            case 2:
                del changed[place : place + chance.choice((1, 9, 100))]
            case 3:
                changed[place:place] = chance.randbytes(chance.choice((1, 9, 100)))
            case _:
                changed[place:place] = changed[place // 2 : place // 2 + chance.choice((9, 200))]
    return bytes(changed)

"""How much memory is in use, without what caches of a fixed size hold."""

from __future__ import annotations

import gc
import sys


def weight() -> int:
    """Blocks of memory that Python holds and somebody uses. Caches of functions are emptied before."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0].startswith("mqframe"):
            for value in tuple(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    gc.collect()
    return sys.getallocatedblocks()

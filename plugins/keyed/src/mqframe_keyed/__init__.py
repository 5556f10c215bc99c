"""The mode "keyed" of push consumers: order within each key, and many keys of a queue at once."""

from __future__ import annotations

from mqframe_keyed.keys import KEY_PROPERTY, KeyedOptions

__all__ = ["KEY_PROPERTY", "KeyedOptions"]

"""Codecs: how values become bodies of messages, and bodies values.

The interface is part of the vocabulary, so that messages can be made and read without any plugin.
"""

from __future__ import annotations

from mqframe.core.messages.codec import Codec as Codec

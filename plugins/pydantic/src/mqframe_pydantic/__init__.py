"""Codec `pydantic`: pydantic models, and whatever else pydantic validates, as JSON bodies."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_pydantic.codec import PydanticCodec

__all__ = ["PydanticCodec", "register_codecs"]


@hookimpl
def register_codecs() -> Factories:
    """The one codec."""
    return {"pydantic": PydanticCodec}

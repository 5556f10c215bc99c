"""A cluster as one file: what is in it, a plan of what would change, and its application."""

from mqframe_definitions.kind import DefinitionKind
from mqframe_definitions.planning import Change

__all__ = ["Change", "DefinitionKind"]

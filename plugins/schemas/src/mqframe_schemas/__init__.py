"""Typed topics: schemas kept by name servers, checked by producers, with rules for their changes.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_schemas.admin import IncompatibleSchema as IncompatibleSchema
    from mqframe_schemas.admin import SchemasAdmin as SchemasAdmin
    from mqframe_schemas.formats.bodies import UnfitBody as UnfitBody
    from mqframe_schemas.hook import BodyRefused as BodyRefused
    from mqframe_schemas.hook import SchemaCheck as SchemaCheck
    from mqframe_schemas.rules.compatibility import Rule as Rule
    from mqframe_schemas.rules.history import SchemaHistory as SchemaHistory
    from mqframe_schemas.rules.history import SchemaVersion as SchemaVersion
    from mqframe_schemas.topic_schemas import TopicSchemas as TopicSchemas

__getattr__, __dir__ = late_names(
    __name__,
    {
        "BodyRefused": "mqframe_schemas.hook",
        "IncompatibleSchema": "mqframe_schemas.admin",
        "Rule": "mqframe_schemas.rules.compatibility",
        "SchemaCheck": "mqframe_schemas.hook",
        "SchemaHistory": "mqframe_schemas.rules.history",
        "SchemaVersion": "mqframe_schemas.rules.history",
        "SchemasAdmin": "mqframe_schemas.admin",
        "TopicSchemas": "mqframe_schemas.topic_schemas",
        "UnfitBody": "mqframe_schemas.formats.bodies",
    },
)

"""Annotations for what handlers may have injected."""

from __future__ import annotations

from typing import Annotated

from faststream._internal.context import Context
from faststream.annotations import ContextRepo, Logger
from faststream.params import NoCast

from mqframe_faststream.broker import MqframeBroker as _Broker
from mqframe_faststream.connection import Connection as _Connection
from mqframe_faststream.message import MqframeMessage as _Message

__all__ = ["Connection", "ContextRepo", "Logger", "MqframeBroker", "MqframeMessage", "NoCast"]

MqframeMessage = Annotated[_Message, Context("message")]
MqframeBroker = Annotated[_Broker, Context("broker")]
Connection = Annotated[_Connection, Context("broker._connection")]

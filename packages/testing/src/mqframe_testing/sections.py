"""The sections of settings that a broker's own services have, for `AsyncCluster(sections=[…])`."""

from mqframe.broker.request_reply.settings import ReplySettings as ReplySettings
from mqframe.net.settings import NetSettings as NetSettings

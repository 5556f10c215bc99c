"""Who gets which queues and how a group reads a topic: tables and bodies, without a broker."""

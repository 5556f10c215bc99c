"""How the log of a leader is sent and taken: what epochs add to the stream of replication."""

"""Named clusters: a file of name servers and settings, and which of them a command means."""

"""Access control of servers: who may send what, where, and what is written down of changes."""

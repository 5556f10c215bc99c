"""The door in a process of its own, before brokers that name servers know."""

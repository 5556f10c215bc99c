"""Who leads a group of brokers: epochs, the set in sync, leases, and who may claim."""

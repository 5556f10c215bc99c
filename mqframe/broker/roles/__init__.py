"""What a broker is among those with the same log: the interface of roles, and a broker that is alone."""

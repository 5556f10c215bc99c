"""Rules of administration: plans and outcomes, without a connection."""

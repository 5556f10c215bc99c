"""Users and policies, and accounts of 4.9: what operators ask servers that check access."""

"""How names, and what holds some, look inside and outside of a namespace."""

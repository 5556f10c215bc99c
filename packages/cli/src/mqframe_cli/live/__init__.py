"""What goes on: messages as they come, lags and rates as they change, how far a run is."""

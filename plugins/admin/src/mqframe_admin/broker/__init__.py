"""Administration at the broker: what operators ask and change."""

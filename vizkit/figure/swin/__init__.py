"""Pictures of windows."""

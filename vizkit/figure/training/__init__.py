"""Pictures of runs and of what training does to a picture or a network."""

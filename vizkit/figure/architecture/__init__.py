"""Pictures of a model's parts."""

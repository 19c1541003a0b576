"""Which parts of a model its answers rest on, measured by taking them away."""

"""Pictures of attention: matrices, layers × heads, distances."""

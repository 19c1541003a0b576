"""A recipe, the one loop that follows it, and what it needs on the way. The bundled models came about like this."""

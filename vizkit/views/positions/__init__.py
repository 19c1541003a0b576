"""How a transformer knows where a patch is."""

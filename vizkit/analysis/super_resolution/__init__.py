"""How near an enlarged image is to the true one, and what its attention took from the reference."""

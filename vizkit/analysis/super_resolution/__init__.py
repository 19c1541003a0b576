"""How near an enlarged picture is to the true one, and what its attention took from the reference."""

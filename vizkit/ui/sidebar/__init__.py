"""Which picture, which models, on which device."""

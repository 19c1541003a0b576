"""What a teacher knows beside its answer."""

"""Train a model, watch it learn, compare runs."""

"""One published idea per file: pure functions from a Trace to tensors."""

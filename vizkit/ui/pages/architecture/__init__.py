"""The model as a flow of blocks, and its parts in code."""

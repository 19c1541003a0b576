"""One head step by step, statistics of all heads, and the mask of a decoder."""

"""Measured figures, as ratios in one run: `make bench`, or `python -m benchmarks recording`, `memory`, `pages`."""

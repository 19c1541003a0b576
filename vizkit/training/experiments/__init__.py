"""Plans of several runs, and their results."""

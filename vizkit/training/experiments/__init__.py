"""Plans of several runs, and what they tell."""

"""How maps look, and how often they tell the truth."""

"""Several models beside one another: their classes, answers, changed pictures, and what papers say."""

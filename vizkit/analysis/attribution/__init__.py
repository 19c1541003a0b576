"""What speaks for a token or a class: rollout, relevance and what runs the model again; one published idea per file."""

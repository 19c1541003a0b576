"""What a step sees, from seeds alone."""

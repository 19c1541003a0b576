"""What a model that finds things says, and where it looks: pure functions of boxes, weights and masks."""

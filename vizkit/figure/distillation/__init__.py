"""Pictures of class probabilities and of the loss."""

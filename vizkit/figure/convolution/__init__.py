"""Pictures of convolutional networks."""

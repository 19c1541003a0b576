"""What convolutional layers compute, taken apart."""

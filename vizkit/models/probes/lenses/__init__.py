"""What the layers of a model say in the words of its own head."""

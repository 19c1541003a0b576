"""Pictures of texts: matrices with words on their sides."""

"""What happens inside a model, measured over many pictures: its heads, and how alike its layers are."""

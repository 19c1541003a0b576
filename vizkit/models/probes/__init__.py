"""What a page needs of one model: a layer taken apart, its cost, its positions, its answers."""

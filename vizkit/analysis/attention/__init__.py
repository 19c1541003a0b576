"""What attention weights show: maps, statistics, positions, and one head followed step by step."""

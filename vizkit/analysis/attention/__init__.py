"""What attention says: maps, statistics, positions, and one head followed step by step."""

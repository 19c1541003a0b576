"""What a teacher's probabilities contain, and how a student learns it."""

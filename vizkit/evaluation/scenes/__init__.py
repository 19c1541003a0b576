"""Models that find things, judged on many scenes: average precision, where queries look, and what is said twice."""

"""Texts to learn from: dates in many spellings, and letters to copy or to reverse after a gap. No torch here."""

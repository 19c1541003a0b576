"""What the vectors of patches know: their main directions as colours, the object they set apart, places alike."""

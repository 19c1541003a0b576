"""Learning to find things: annotated pictures as batches, and the task behind the loop's protocol."""

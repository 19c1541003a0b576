"""Learning to enlarge pictures: pairs as batches, and the task behind the loop's protocol."""

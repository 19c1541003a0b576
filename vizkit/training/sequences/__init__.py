"""Learning from texts: pairs as batches of ids, the task behind the loop's protocol, its card and recipes."""

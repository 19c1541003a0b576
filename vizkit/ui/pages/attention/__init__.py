"""One head by eye, all heads compared and counted."""

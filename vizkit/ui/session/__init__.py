"""What is chosen, shown, remembered, and running in the background."""

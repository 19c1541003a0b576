"""What a student learns from a teacher: temperature, the loss, and who agrees with whom."""

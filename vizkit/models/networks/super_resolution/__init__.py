"""Networks that enlarge a picture four times, with or without a second picture to take texture from."""

"""Where decisions came from: of one picture, and of a folder of them."""

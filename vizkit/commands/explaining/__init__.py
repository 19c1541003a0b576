"""Where decisions came from: of one image, and of a folder of them; a labelled folder looked over."""

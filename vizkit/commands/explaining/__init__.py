"""Where decisions came from: of one picture, and of a folder of them; a labelled folder looked over."""

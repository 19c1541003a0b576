"""The run on disk: its folder, what is saved in it, the bin, the command that made it."""

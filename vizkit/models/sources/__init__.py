"""Where models come from; each source gives a `Loaded`."""

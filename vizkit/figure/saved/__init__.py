"""Pictures that stand alone: a map with its title, its colour scale and where it comes from, as PNG and SVG."""

"""What draws a view without a server: on paper (PNG, SVG), in a page of its own, in a notebook."""

"""Dense features over images: patches in colours, those alike to one, objects cut out."""

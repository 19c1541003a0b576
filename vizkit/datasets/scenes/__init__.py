"""Pictures with several things and their boxes: drawn scenes, and people's own in COCO's format."""

"""A data set as a figure: what one image is like, who taught an answer, whose features lie near. Numbers alone."""

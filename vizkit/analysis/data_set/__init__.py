"""A data set as a picture: what one picture is like, who taught an answer, whose features lie near. Numbers alone."""

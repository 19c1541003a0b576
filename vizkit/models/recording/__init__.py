"""Running a model and recording what its attention computes, with the proof."""

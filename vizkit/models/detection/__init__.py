"""Models that find things: DETR from its parts, its matching and its losses, weights of transformers' models.

`opening` opens a network (`transformers_folder` those of transformers), `matching` matches, `found` says what is found
as shares and `detecting` in pixels of any picture, `seen` what attention saw. `tracing` gives a `Trace` of cells and of
queries whose place is the box that they say (`Tokens.boxes_cxcywh`). Of masks, `segmenting` runs the network and the
head behind it, `opening_masks` opens that head from the folder `masks` of its network and refuses one of other weights,
`panoptic` measures.
"""

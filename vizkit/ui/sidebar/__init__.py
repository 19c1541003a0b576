"""Which picture, which models, on which device.

`inputs` asks, `folders` says which folders and models of this machine visitors may choose, `strip` has the thumbnails,
`gallery` models to start with.
"""

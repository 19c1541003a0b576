"""What draws a view without a server: on paper (PNG, SVG), in a page of its own, in a notebook.

`column` has each block on paper, `paper` the whole; `stage` has every step of a played field, packed by `packing` for
`figure/canvas/stage.js`; `page` is a page of its own around it; `library` is `vizkit.show`, `showing` what it gives,
`slides` a zip with a picture for each step.
"""

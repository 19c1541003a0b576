"""Convolutional networks: kernels, pooling, activations, norms.

`sliding` is a kernel at a place, `walk` all that decides its way over an image, `origin` the shares of a number; in
the browser `slide.js` computes all of the walk again and is compared with PyTorch's output. `ancestors` is the table of
the networks before transformers.
"""

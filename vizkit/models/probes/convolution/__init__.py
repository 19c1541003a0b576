"""What convolutional layers compute, taken apart.

`layers_seen` sees the convolutions, norms and activations of a pass as a `TorchFunctionMode`; `receptive_field` follows
a network through the operations that it runs on tensors without content, `effective_field` takes gradients.
"""

"""What the layers of a model say in the words of its own head.

`logit_lens` puts the model's head after every layer, `direct_attribution` writes a logit as a sum over embedding, heads
(of each patch that they look at) and MLPs. Both refuse where they miss the model's own logit by more than 1e-4.
"""

"""Changes outside attention, and what they show: the residual stream patched, steered, continued from a block."""

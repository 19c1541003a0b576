"""Windows that shift and merge, in numbers.

`shifted_windows` says where each token lies after roll and padding and in which region, numbered as in timm;
`receptive_field` follows tokens back as sets.
"""

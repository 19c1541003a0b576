"""One kind of picture per file: tensors to plotly figures or uint8 RGB."""

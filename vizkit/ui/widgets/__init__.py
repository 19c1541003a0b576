"""What several pages draw or ask: canvases with their scripts and styles, tiles, tables, pickers."""

"""Texts: masks, the way from the words of a source to those of a target, the memory of recurrent networks."""

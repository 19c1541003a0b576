"""One file per family: which call is which layer, and where its tokens lie."""

"""Training scripts: how the bundled models came about, each one command."""

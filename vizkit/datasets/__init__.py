"""Images with a known truth, at hand without a network: digits, insects, two photographs."""

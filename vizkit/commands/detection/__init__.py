"""Commands for models that find things: what they find, and how well."""

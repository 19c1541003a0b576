"""What is made of a view outside of the app: each module is one host, and knows views only by their blocks."""

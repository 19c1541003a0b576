"""What speaks for a class, and can the picture be trusted?"""

"""Whether a map is true: it is scored (`scores`), set beside chance (`table`), and judged in words (`verdict`)."""

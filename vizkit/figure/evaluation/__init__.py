"""Pictures of measured answers, scores and costs."""

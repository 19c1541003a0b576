"""Lessons: predict first, then see; every answer is measured on the model in front of the reader.

`expressions` is the small language of answers, `vocabulary` its words, `lesson` reads a teacher's Markdown, `prose` its
texts; `judging` compares a guess with the answer, `shelf` knows all lessons, `checking` tries one out, `answers` keeps
what somebody guessed; `course/` has the lessons that come with vizkit.
"""

"""What is chosen, shown, remembered, and running in the background.

`chosen` is what the sidebar chose (typed classes are part of a model's name there, by their digest), `gallery` the
table of models to start with, `shown` runs the chosen models for every page, `remembered` is one budget of bytes for
all sessions. `runner` starts, follows and stops processes that work in a folder: `jobs` are trainings, `series` several
one after another, `evaluations` those of the Evaluate page; `background` is work of seconds in a thread. Of visitors,
`allowed` says what they may do, `uploads` asks for their files, keeps them and clears them away; `address` is the link
to what is shown, `linked_picture` that to an upload; `saved` is the report of a session.
"""

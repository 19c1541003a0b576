"""The command line. A command is a function: its parameters are its arguments and options, its docstring is its help.

`options` has what several commands share, `output` what they print and write, `of_runs` what the experiments share that
train; `show` makes a command of every view.
"""

"""Running a model and recording what its attention computes, with the proof.

`recorder` watches attention (`weights` is its arithmetic, `layer_output` its proof), `forward` runs and compares,
`counting` counts attention layers in the plain pass, operation by operation, and knows nothing of the recording; it
finds the softmaxes that are no attention, which `gates` keeps for all others.
`watching` follows a layer to the sum with what went past it; `stages` cuts networks of torchvision into stages. Tables
go by a class with its file (`kinds`), never by a bare name.

Of edits: `edits` is a change as a record and as text (`heads:3.5=0`), `editing` follows them for one pass, by the same
interceptor as the recorder and inside it; `plan` holds what it puts in place, and `edited_scores` what happens before
the softmax. `masks` follows what a layer adds to its scores, so that no edit opens its mask, and `edit_proof` looks on
from outside and computes a few queries of every layer again (`Check.edit_error`); which places of a shifted window may
meet it knows from geometry (`families.places`).
"""

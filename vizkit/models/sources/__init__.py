"""Where models come from; each source gives a `Loaded`.

`loading` goes by source: `hub` the network, `checkpoint` files from others, `creating` timm's error messages, `sizing`
measures a model without weights before it is made or downloaded. All of them give a `Loaded` (`loaded`).

Of files, `weight_names` chooses among several networks and takes off what training programs put around names,
`adapters` merges LoRA, `following` reads the options of an
architecture from shapes, `from_file` goes through timm's own translation and forbids it to resample, `fitting` suggests
names, `torchvision_models` are torchvision's.

Of transformers, `from_transformers` decides between timm's model (`transformers_names`, `transformers_stages` translate
configuration and weights) and the library's own module; `transformers_processor` is its image processor, in
words or by itself, with its geometry measured,
`transformers_weights` reads weights in one or several files. `zero_shot` makes typed words the classes of CLIP and
SigLIP, as a head on their picture tower; `wrap` takes anybody's module.
"""

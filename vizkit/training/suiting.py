"""Settings that suit the pictures: what a recipe should have changed when it is followed on other data. No torch."""

from vizkit.training.recipe import Recipe

SUITED = ("model", "images", "flip", "square_px")
"""The fields that `suited` looks at."""
MIRRORS = ". Digits and your own images begin without: a mirrored digit, letter or sign is another one or none"
SMALL, DIGITS = "small_", "digits_"
DIGIT_SQUARE_PX = 4  # a digit's own pixels are so large (vizkit.datasets.digits.ENLARGEMENT)


def suited(recipe: Recipe, data: str) -> Recipe:
    """`recipe` on `data` (its name; what is not built in is taken for the user's own): of our models the size for
    these pictures, a number of pictures only where they are drawn, mirrored ones only where nothing depends on left
    and right, digits averaged over their own pixels after a turn."""
    kind = data.partition(":")[0]
    small, large = (DIGITS, SMALL) if kind == "digits" else (SMALL, DIGITS)
    model = small + recipe.model.removeprefix(large) if recipe.model.startswith(large) else recipe.model
    return recipe.but(
        {
            "model": model,
            "images": recipe.images if kind == "insects" else 0,
            "flip": recipe.flip if kind in ("insects", "torchvision") else 0.0,
            "square_px": DIGIT_SQUARE_PX if kind == "digits" else recipe.square_px,
        }
    )

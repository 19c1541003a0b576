"""Names as a stranger may give them, in runs whose every file carries them."""

import json
import shutil

from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session.model_names import BUNDLED

HOST = "evil.test"
# As Markdown, HTML, a colour, a formula and an icon; a folder's name has no slash, but Markdown reads &#47; as one.
NAME = f"![x](http:&#47;&#47;{HOST}&#47;a.png)<img src=q>:red[r]$y$"
TEXT = f"![x](http://{HOST}/a.png)<img src=http://{HOST}/b.png onerror=alert(1)>:red[r]$y$"


def label(index):
    return f"{TEXT} {index}"


def run(root, suffix, bundled, number):
    """A finished run of a bundled model; `number`: of its classes."""
    found = RunFolder(root / f"{NAME}{suffix}")
    found.path.mkdir(parents=True)
    shutil.copy(BUNDLED / bundled / "model.safetensors", found.path)
    config = json.loads((BUNDLED / bundled / "config.json").read_text())
    config["label_names"] = [label(index) for index in range(number)]
    config["pretrained_cfg"] |= {"license": TEXT, "label_names": config["label_names"]}
    found.write("config.json", config)
    (found.path / "README.md").write_text(f"---\nlicense: {TEXT}\n---\n", encoding="utf-8")
    found.write_text("recipe.json", Recipe(data="digits", model="digits_vit", epochs=1).to_json())
    found.append(
        {
            "epoch": 1,
            "train_loss": 1.0,
            "train_accuracy": 0.5,
            "rate": 1e-3,
            "images_per_s": 50.0,
            "val_loss": 1.0,
            "val_accuracy": 0.5,
            "seconds": 3.0,
        }
    )
    found.write("samples.json", [{"index": 0, "label": 0, "predicted": 1, "probability": 0.9}])
    found.write("result.json", {"test_accuracy": 0.75, "test_loss": 1.0, "test_images": 359})
    found.write("versions.json", {"device": "CPU"})
    found.write("status.json", {"state": "done", "epoch": 1, "epochs": 1, "message": TEXT})
    found.write_text(
        "card.md", f"# Its story\n\n{TEXT}\n\n| a | b |\n|---|---|\n| ![i][r] | 1 |\n\n[r]: http://{HOST}/r.png\n"
    )
    return found

"""The methods that explain a decision: what each asks, and what it cannot tell. Imports nothing, so lists are quick."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Method:
    """One way to explain. `needs`: a "trace", a trace with a "target", or the "model" itself (a `subject.Subject`).

    `signed`: values below zero speak against the class. `slow`: runs the model again, tens to hundreds of times.
    """

    name: str
    title: str
    needs: Literal["trace", "target", "model"]
    signed: bool
    slow: bool
    asks: str
    caveat: str
    source: str


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "attention",
            "Attention of the class token",
            "trace",
            False,
            False,
            "How much does the class token of the last layer take from each place, on the mean of its heads?",
            "It is one layer of many, and by then each place carries what it gathered from others.",
            "Vaswani et al. 2017 (arXiv 1706.03762), eq. 1; as a map in Caron et al. 2021 (arXiv 2104.14294)",
        ),
        Method(
            "rollout",
            "Rollout",
            "trace",
            False,
            False,
            "From which places can anything reach the class token when all layers' attention is multiplied?",
            "It knows no class, and leaves out values, MLPs and normalisation.",
            "Abnar & Zuidema 2020 (arXiv 2005.00928), eq. 1",
        ),
        Method(
            "gradient_rollout",
            "Gradient rollout",
            "target",
            False,
            False,
            "The same, when only attention that raises the class's logit counts?",
            "The gradient is that of this very image; the identity of every layer hides weak paths.",
            "Abnar & Zuidema 2020 with the relu(A ⊙ gradient) of Chefer et al. 2021 (arXiv 2103.15679)",
        ),
        Method(
            "generic_relevance",
            "Generic relevance",
            "target",
            False,
            False,
            "Which places gain relevance for the class when it is added up layer by layer?",
            "What attention does against the class is set to zero; values and MLPs are left out.",
            "Chefer et al. 2021 (arXiv 2103.15679), eq. 5 and 6",
        ),
        Method(
            "legrad",
            "LeGrad",
            "target",
            False,
            False,
            "At which places would more attention raise the class, read off each layer on its own?",
            "It is the slope of attention, not the attention paid; layers count alike.",
            "Bousselham et al. 2024 (arXiv 2404.03214), § 3",
        ),
        Method(
            "grad_cam",
            "Grad-CAM",
            "target",
            False,
            False,
            "Where do the late features hold what raises the class on the mean of all places?",
            "Late features are coarse and have seen the whole image; their place is not the place of their cause.",
            "Selvaraju et al. 2017 (arXiv 1610.02391), eq. 1 and 2",
        ),
        Method(
            "hires_cam",
            "HiResCAM",
            "target",
            False,
            False,
            "Where does each late feature itself raise the class, gradient times feature place by place?",
            "As coarse as Grad-CAM; under a mean over places the two are the same map.",
            "Draelos & Carin 2020 (arXiv 2011.08891), eq. 3",
        ),
        Method(
            "integrated_gradients",
            "Integrated gradients",
            "model",
            True,
            True,
            "How is the change of the logit from an empty picture to this one shared out among the pixels?",
            "It depends on what counts as empty, is zero where the picture has that very colour, and is grainy.",
            "Sundararajan et al. 2017 (arXiv 1703.01365), eq. 1",
        ),
        Method(
            "smooth_grad",
            "SmoothGrad",
            "model",
            False,
            True,
            "How strongly would a small change of each pixel move the logit, up or down, on the mean of noisy copies?",
            "It is the slope for small changes, not what the pixel contributes now; it shows no sign.",
            "Smilkov et al. 2017 (arXiv 1706.03825), § 3.1",
        ),
        Method(
            "gradient_shap",
            "GradientShap",
            "model",
            True,
            True,
            "As integrated gradients, on the mean of several empty pictures and of noise?",
            "Points are drawn at random, so the shares add up only roughly.",
            "Lundberg & Lee 2017 (arXiv 1705.07874), as Captum draws it",
        ),
        Method(
            "occlusion",
            "Occlusion",
            "model",
            True,
            True,
            "By how much does the logit fall when a square of 2 × 2 patches is covered?",
            "A cover is a thing to see itself; what stands twice in the image is missed, since one of it suffices.",
            "Zeiler & Fergus 2014 (arXiv 1311.2901), § 4.2",
        ),
        Method(
            "patch_ablation",
            "Patch ablation",
            "model",
            True,
            True,
            "By how much does the logit fall when one patch is replaced?",
            "One patch alone often changes little, though several together would; the replacement is seen too.",
            "Zeiler & Fergus 2014 (arXiv 1311.2901), with patches; Captum's FeatureAblation",
        ),
    )
}

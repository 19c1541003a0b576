from vizkit.analysis.remarks.super_resolution import of_reference, of_trust


def test_a_reference_brings_costs_or_changes_nothing():
    assert of_reference(33.9, 32.5, 30.6, 0.78).words == (
        "The reference brings 1.4 dB: 33.9 dB with it, 32.5 without, 30.6 by bicubic interpolation; its texture is "
        "trusted at 78 % of the places."
    )
    assert of_reference(32.0, 32.5, 30.6, 0.0).words.startswith("The reference costs 0.5 dB: 32.0 dB with it")
    assert of_reference(32.45, 32.5, 30.6, 0.1).words.startswith("The reference changes next to nothing: ")


def test_without_a_truth_the_trust_alone_is_said():
    assert of_trust(0.25).words == "The texture of the reference is trusted at 25 % of the places."

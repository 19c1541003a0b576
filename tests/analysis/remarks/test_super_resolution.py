from vizkit.analysis.remarks.super_resolution import of_likeness, of_reference, of_same, of_tiles, of_trust, of_whole


def test_a_reference_brings_costs_or_changes_nothing():
    assert of_reference(33.9, 32.5, 30.6) == (
        "The reference brings 1.40 dB of PSNR: 33.90 dB with it, 32.50 without, 30.60 bicubic."
    )
    assert "brings 0.40 dB of PSNR: 25.05 dB with it, 24.65 " in of_reference(25.047, 24.654, 24.0)
    assert of_reference(32.0, 32.5, 30.6).startswith("The reference costs 0.50 dB of PSNR: 32.00 dB with it")
    assert of_reference(32.45, 32.5, 30.6).startswith("The reference changes next to nothing: ")


def test_why_an_image_beside_itself_is_no_copy():
    assert of_same(0.39).endswith("the network lets 39 % of its finest texture in, mean over all places.")


def test_without_a_truth_the_trust_alone_is_said():
    assert of_trust(0.25) == "More than half of the texture of the reference is let through at 25 % of the places."


def test_what_references_are_worth_by_their_likeness():
    none = (0.01, -0.01, 0.03)
    said = of_likeness({"same": (1.3, 1.25, 1.35), "kind": (-0.07, -0.09, -0.05), "noise": (-0.04, -0.05, -0.03)}, 500)
    assert said == (
        "Over 500 drawn scenes 1 of 3 references helps, compared with no reference: same brings 1.30 dB (1.25 to "
        "1.35); kind and noise cost 0.04 to 0.07 dB."
    )
    assert of_likeness({"kind": none}, 20) == (
        "Over 20 drawn scenes none of 1 reference helps, compared with no reference: kind cannot be told apart from no "
        "reference."
    )
    assert of_likeness({"a": (1.0, 0.9, 1.1), "b": (0.5, 0.4, 0.6)}, 9).startswith(
        "Over 9 drawn scenes 2 of 2 references help, compared with no reference: a brings 1.00 dB (0.90 to 1.10); "
    )


def test_a_whole_picture_is_judged_by_its_edges_and_by_the_picture_it_was_made_from():
    assert of_whole((896, 640), 1.25, 46.14) == (
        "896 × 640 pixels: neighbouring pixels differ 25 % more than by bicubic interpolation, so it is sharper, but "
        "whether that detail was there nobody knows; shrunk again, it agrees with the given image to 46.1 dB."
    )
    assert "differ 10 % less than" in of_whole((4, 4), 0.9, 30.0)
    assert of_whole((4, 4), 1.001, float("inf")) == (
        "4 × 4 pixels: neighbouring pixels differ as much as by bicubic interpolation, so it is no sharper; shrunk "
        "again, it is the given image."
    )
    assert of_whole((4, 4), 0.9, 30.0, part=True).startswith("The part on show, 4 × 4 pixels: neighbouring")
    assert of_tiles(2, 15) == "The part on show is being enlarged: 2 of 15 tiles done, the rest is bicubic still."

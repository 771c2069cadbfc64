"""Automatic layout: the better of one attention group and one a chip, where the cache is latent and nobody chose."""

from dataclasses import fields

import numpy as np
import pytest

from fastmode import catalog
from fastmode.serving import PRECISIONS, Service, ServingConfig, serve, serve_automatic

CAT = catalog.load()
BATCHES = np.arange(1.0, 513.0)


def config(model="kimi-k2", hardware="b200_sxm", **more):
    """8 B200 at fp8 and 32k context, calls of the issue-sized task."""
    values = {
        "n_chips": 8, "weight_precision": PRECISIONS.index("fp8"), "context_tokens": 32_000.0, "fresh_tokens": 5_700.0,
        "cached_tokens": 26_300.0, "output_tokens": 400.0, "batch": BATCHES,
    } | more  # fmt: skip
    return ServingConfig(model=CAT.models.index.get_loc(model), hardware=CAT.hardware.index.get_loc(hardware), **values)


def same(a, b, rows=slice(None)):
    for field in fields(Service):
        np.testing.assert_array_equal(getattr(a, field.name)[rows], getattr(b, field.name)[rows], field.name)


def test_speed_is_the_better_of_the_two_layouts_at_every_batch():
    automatic, one, many = (serve_automatic(config(), CAT), serve(config(dp=1), CAT), serve(config(dp=8), CAT))
    better = np.fmax(one.tokens_per_s_per_user, many.tokens_per_s_per_user)
    np.testing.assert_array_equal(automatic.tokens_per_s_per_user, better)
    np.testing.assert_array_equal(automatic.status == 0, (one.status == 0) | (many.status == 0))


def test_speed_never_rises_with_batch():
    speed = serve_automatic(config(), CAT).tokens_per_s_per_user
    fits = np.isfinite(speed)
    assert fits[:164].all() and not fits[164:].any()  # 164 sequences of 32k fit beside the weights
    assert (np.diff(speed[fits]) < 0).all()


def test_small_batches_share_the_attention_weights_and_large_ones_the_cache():
    automatic = serve_automatic(config(), CAT)
    assert automatic.tp[0] == 8 and automatic.tp[163] == 1
    switch = np.flatnonzero(np.diff(automatic.tp[:164]))
    assert switch.size == 1 and 2 <= switch[0] <= 30
    # One group keeps a copy of the cache on each chip, so it holds a fraction of the sequences.
    assert serve(config(dp=1), CAT).max_batch[0] < automatic.max_batch[163] / 4


def test_the_largest_batch_is_that_of_either_layout():
    automatic = serve_automatic(config(batch=np.array([1.0, 4.0, 64.0, 164.0])), CAT)
    np.testing.assert_array_equal(automatic.max_batch, 164.0)


def test_what_fits_neither_way_names_the_larger_batch():
    automatic = serve_automatic(config(batch=400.0), CAT)
    assert automatic.reason(0) == "batch 400 does not fit: at most 164 at this context"


@pytest.mark.parametrize("dp", [1, 2, 4, 8])
def test_a_number_of_groups_that_was_asked_for_is_respected(dp):
    same(serve_automatic(config(dp=dp), CAT), serve(config(dp=dp), CAT))


@pytest.mark.parametrize("model", ["glm-4.7", "gpt-oss-120b", "llama-3.1-70b"])
def test_models_with_heads_to_share_are_untouched(model):
    asked = config(model, weight_precision=-1)
    same(serve_automatic(asked, CAT), serve(asked, CAT))


def test_wafers_are_untouched():
    asked = config(hardware="cerebras_wse3", n_chips=0, weight_precision=PRECISIONS.index("bf16"), batch=np.array([1.0, 16.0, 64.0]))
    same(serve_automatic(asked, CAT), serve(asked, CAT))


def test_a_mixed_batch_is_each_configuration_alone():
    models = ["kimi-k2", "glm-4.7", "deepseek-v3", "kimi-k2"]
    batches, dp = np.array([64.0, 64.0, 4.0, 4.0]), np.array([0, 0, 0, 8])
    rows = np.array([CAT.models.index.get_loc(m) for m in models])
    b200 = CAT.hardware.index.get_loc("b200_sxm")
    common = {"n_chips": 8, "weight_precision": PRECISIONS.index("fp8"), "context_tokens": 32_000.0}
    together = serve_automatic(ServingConfig(rows, b200, batch=batches, dp=dp, **common), CAT)
    for i in range(len(models)):
        alone = serve_automatic(ServingConfig(rows[i], b200, batch=batches[i], dp=dp[i], **common), CAT)
        for field in fields(Service):
            wanted, got = getattr(alone, field.name)[0], getattr(together, field.name)[i]
            np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=field.name)


def test_fewer_chips_win_where_the_number_is_automatic():
    automatic, one = serve_automatic(config(n_chips=0, batch=np.array([4.0, 100.0])), CAT), serve(config(n_chips=0, dp=1, batch=np.array([4.0, 100.0])), CAT)  # fmt: skip
    assert (automatic.status == 0).all() and (automatic.n_chips <= one.n_chips).all()
    assert automatic.n_chips[1] < one.n_chips[1]


def test_unknown_models_and_hardware_keep_their_reason():
    unknown = serve_automatic(ServingConfig(np.array([-1, 0]), np.array([0, -1])), CAT)
    assert [unknown.reason(0), unknown.reason(1)] == ["unknown model", "unknown hardware"]


def test_groups_asked_for_are_not_spread_over_more_than_a_domain():
    """Eight chips a group on servers of eight: twice the chips are two replicas, each as fast at half the batch."""
    one = serve_automatic(config(tp=8, batch=16.0), CAT)
    two = serve_automatic(config(tp=8, n_chips=16, batch=32.0), CAT)
    assert (one.replicas[0], two.replicas[0]) == (1, 2) and one.tp[0] == two.tp[0] == 8
    assert two.tokens_per_s_per_user[0] == pytest.approx(one.tokens_per_s_per_user[0], rel=1e-12)
    assert two.output_tokens_per_s[0] == pytest.approx(2 * one.output_tokens_per_s[0], rel=1e-12)


def test_the_chips_named_as_needed_are_the_fewest_of_either_layout():
    """Batch 64 at 32k context does not fit on 4 B200; on the 8 that the reason names it does."""
    short = serve_automatic(config(n_chips=4, batch=64.0), CAT)
    assert short.status[0] != 0 and short.fewest_chips[0] == 8
    assert "8 chips" in short.reason(0)
    assert serve_automatic(config(n_chips=8, batch=64.0), CAT).status[0] == 0

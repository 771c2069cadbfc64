"""What holds for every configuration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmode import catalog
from fastmode.serving import ENGINES, PRECISIONS, ServingConfig, in_traffic, serve, serve_automatic
from fastmode.serving.architecture import gather
from fastmode.serving.tables import tables

CATALOG = catalog.load()
PARTS = ("weights_s", "kv_s", "compute_s", "collectives_s", "overhead_s", "others_prefill_s")
models = st.integers(0, len(CATALOG.models) - 1)
parts = st.integers(0, len(CATALOG.hardware) - 1)
chips = st.sampled_from([0, 1, 2, 4, 8, 16, 64, 700])
tokens = st.floats(1, 60_000)


@settings(max_examples=60, deadline=None)
@given(models, parts, chips, st.floats(1, 500), tokens, tokens, st.integers(-1, 5), st.integers(0, 8))
def test_parts_add_up(model, hardware, n, batch, context, output, curve, draft):
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=n, batch=batch, context_tokens=context,
                      output_tokens=output, speculation=curve, draft_tokens=draft), CATALOG,
    )  # fmt: skip
    total = sum(getattr(service, part)[0] for part in PARTS)
    if service.status[0] == 0:
        assert total == pytest.approx(service.tpot_s[0], rel=1e-12)
        assert all(getattr(service, part)[0] >= 0 for part in PARTS)
        memory = service.weights_bytes + service.kv_bytes + service.activation_bytes + service.reserve_bytes
        assert memory[0] <= service.capacity_bytes[0]
    else:
        assert np.isnan(total) and service.reason(0) != "ok"


@settings(max_examples=60, deadline=None)
@given(models, parts, st.sampled_from([1, 4, 8, 64, 700]), tokens)
def test_speed_does_not_rise_with_the_batch(model, hardware, n, context):
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=n, batch=[1, 2, 5, 20, 100, 400],
                      context_tokens=context), CATALOG,
    )  # fmt: skip
    speed = service.tokens_per_s_per_user[service.status == 0]
    assert np.all(np.diff(speed) <= 1e-9 * speed[:-1])


@settings(max_examples=60, deadline=None)
@given(models, parts, st.sampled_from([1, 2, 4, 8]), st.floats(1, 300), tokens)
def test_no_step_beats_the_bytes_it_reads(model, hardware, n, batch, context):
    """The weights one token needs, at the bytes of the precision used, over all chips at their full bandwidth."""
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=n, batch=batch, context_tokens=context), CATALOG
    )
    row = CATALOG.hardware.iloc[hardware]
    if service.status[0] == 0 and row["memory_kind"] != "SRAM":
        a = gather(tables(CATALOG), np.array([model]))
        active = a.attention_params + a.ffn_params + a.head_params + a.expert_params * a.experts_per_token / a.experts
        bytes_read = active * tables(CATALOG).bytes_per_value[service.weight_precision]
        assert service.step_s[0] > bytes_read[0] / (n * row["memory_bw_tb_s"] * 1e12)


@settings(max_examples=40, deadline=None)
@given(models, parts, st.sampled_from([4, 8, 64, 700]), st.floats(1, 300))
def test_energy_stays_below_tdp(model, hardware, n, batch):
    service = serve(ServingConfig(model=model, hardware=hardware, n_chips=n, batch=batch), CATALOG)
    tdp = CATALOG.hardware["tdp_w"].iloc[hardware]
    if service.status[0] == 0 and np.isfinite(tdp):
        watts = service.energy_j_per_token[0] * service.output_tokens_per_s[0]
        assert watts <= n * tdp * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(models, parts, st.floats(1, 200), tokens)
def test_an_automatic_chip_count_fits(model, hardware, batch, context):
    """The fewest chips that fit do fit, and answering takes no more of them than stated."""
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=0, batch=batch, context_tokens=context), CATALOG
    )
    if service.status[0] == 0:
        assert service.n_chips[0] == service.fewest_chips[0]
        assert service.max_batch[0] >= np.floor(batch)
    else:
        assert "does not fit" not in service.reason(0) or "any number" in service.reason(0)


def test_one_call_equals_many():
    """Broadcasting changes nothing: 300 configurations in one call and one by one."""
    rng = np.random.default_rng(1)
    columns = {
        "model": rng.integers(-1, len(CATALOG.models), 300), "hardware": rng.integers(-1, len(CATALOG.hardware), 300),
        "n_chips": rng.choice([0, 8], 300), "batch": rng.integers(1, 80, 300).astype(float),
        "size_ratio": rng.choice([1.0, 3.0], 300), "speculation": rng.integers(-1, 4, 300),
        "draft_tokens": rng.integers(0, 5, 300),
    }  # fmt: skip
    together = serve(ServingConfig(**columns), CATALOG)
    for i in range(0, 300, 7):
        alone = serve(ServingConfig(**{name: values[i] for name, values in columns.items()}), CATALOG)
        assert alone.status[0] == together.status[i]
        assert alone.tpot_s[0] == pytest.approx(together.tpot_s[i], rel=1e-12, nan_ok=True)
        assert alone.ttft_s[0] == pytest.approx(together.ttft_s[i], rel=1e-12, nan_ok=True)


# The whole catalogue at once: every model x part x precision x chips x batch, loads drawn with a fixed seed.

MODELS, HARDWARE = CATALOG.models, CATALOG.hardware
SRAM = (HARDWARE["memory_kind"] == "SRAM").to_numpy()
BATCHES = np.array([1.0, 2, 3, 5, 8, 20, 64, 150, 500, 2000, 8000])
AXES = {
    "model": np.arange(len(MODELS)),
    "hardware": np.arange(len(HARDWARE)),
    "weight_precision": np.array([-1, *(PRECISIONS.index(name) for name in ("bf16", "fp8", "nvfp4", "q4_k_m"))]),
    "n_chips": np.array([1, 8, 72, 700]),
    "batch": BATCHES,
}
SHAPE = tuple(len(values) for values in AXES.values())
SMALL = 1e-9  # rounding of a few additions
# Bits a value takes without its scales: never more than the model counts.
BITS = {"bf16": 16, "fp8": 8, "int8": 8, "q8_0": 8} | dict.fromkeys(
    ("fp4", "nvfp4", "mxfp4", "int4", "q4_k_m", "q4_0"), 4
)
# Products of a format are made no faster than the peak of the narrowest of these that the chip publishes.
PEAKS = {
    "fp4": ("fp4", "fp8", "bf16"),
    "nvfp4": ("fp4", "fp8", "bf16"),
    "mxfp4": ("fp8", "bf16"),
    "fp8": ("fp8", "bf16"),
    "int8": ("fp8", "bf16"),
}


def configurations(seed: int) -> dict:
    """Every combination of AXES, flat; lengths, engine and layout differ by combination, not along the batch."""
    grid = np.meshgrid(*AXES.values(), indexing="ij")
    columns = {name: array.ravel() for name, array in zip(AXES, grid, strict=True)}
    rng = np.random.default_rng(seed)

    def drawn(choices):
        return np.repeat(rng.choice(choices, size=SHAPE[:-1]).ravel(), SHAPE[-1])

    fresh, output = drawn([0.0, 30.0, 1024.0, 9000.0, 60_000.0]), drawn([1.0, 16.0, 256.0, 2000.0, 30_000.0])
    return columns | {
        "fresh_tokens": fresh, "output_tokens": output, "context_tokens": fresh + 0.5 * output,
        "engine": drawn(np.arange(len(ENGINES))), "dp": drawn([0, 0, 8]), "ep": drawn([0, 8]),
    }  # fmt: skip


@pytest.fixture(scope="module")
def columns():
    return configurations(7)


@pytest.fixture(scope="module")
def grid(columns):
    service = serve(ServingConfig(**columns), CATALOG)
    assert (service.status == 0).sum() > 50_000
    return service


def along_batch(service, name, shape=SHAPE):
    """The figure at each batch over that at the batch before, where both are served."""
    values = getattr(service, name).reshape(shape)
    served = (service.status == 0).reshape(shape)
    return (values[..., 1:] / values[..., :-1])[served[..., 1:] & served[..., :-1]]


def parameters_read(model):
    """Parameters a token needs, from the catalogue: active ones less the input table (some vendors leave it out)."""
    table = (MODELS["vocab_size"] * MODELS["hidden_size"]).to_numpy(float)
    return (MODELS["active_params_b"].to_numpy(float) * 1e9 - table)[model]


def bytes_per_s(hardware):
    """Bandwidth of the memory that holds the weights: HBM, or the SRAM on the chip."""
    return 1e12 * np.where(SRAM, HARDWARE["onchip_sram_bw_tb_s"], HARDWARE["memory_bw_tb_s"])[hardware]


def peak_of(hardware, precision):
    """Published dense FLOP/s for the products of a precision; NaN where nothing is published."""
    peaks = {name: HARDWARE[f"{name}_dense_tflops"].to_numpy(float) * 1e12 for name in ("bf16", "fp8", "fp4")}
    out = np.full(len(hardware), np.nan)
    for code, name in enumerate(PRECISIONS):
        best = np.full(len(HARDWARE), np.nan)
        for width in reversed(PEAKS.get(name, ("bf16",))):
            best = np.where(np.isnan(peaks[width]), best, peaks[width])
        out = np.where(precision == code, best[hardware], out)
    return out


def test_no_prediction_beats_the_weight_read_bound(columns, grid):
    """A step reads every parameter of one token once, and the cache of the running sequences, from all chips.

    Of the cache what is surely read: past a window only the layers that grow, of sparse attention the tokens chosen.

    Bytes from the catalogue at the bare bits of the format. SRAM machines too, at the bandwidth of their SRAM.
    """
    bits = np.array([BITS[name] for name in PRECISIONS])
    read = parameters_read(columns["model"]) * bits[grid.weight_precision] / 8
    least = read / (grid.n_chips * bytes_per_s(columns["hardware"]))
    ok = grid.status == 0
    assert np.all(grid.step_s[ok] > least[ok])
    assert np.all(grid.tpot_s[ok] > least[ok])
    later = MODELS["kv_bytes_per_token_bf16_beyond_window"].fillna(MODELS["kv_bytes_per_token_bf16"]).to_numpy(float)
    chosen = MODELS["sparse_tokens"].fillna(np.inf).to_numpy(float)[columns["model"]]  # sparse attention reads no more
    read_tokens = np.minimum(columns["context_tokens"], chosen)
    cache = grid.batch * read_tokens * later[columns["model"]] * bits[grid.kv_precision] / 16
    both = least + cache / (grid.n_chips * bytes_per_s(columns["hardware"]))
    hbm = ok & ~SRAM[columns["hardware"]]
    assert np.all(grid.step_s[hbm] > both[hbm])


def test_speculation_beats_the_weight_read_bound_per_token_but_not_per_step(columns):
    """The exception: a verification step reads the weights once for several accepted tokens."""
    service = serve(ServingConfig(**columns, speculation=0, draft_tokens=3), CATALOG)
    bits = np.array([BITS[name] for name in PRECISIONS])
    read = parameters_read(columns["model"]) * bits[service.weight_precision] / 8
    least = read / (service.n_chips * bytes_per_s(columns["hardware"]))
    ok = service.status == 0
    assert np.all(service.step_s[ok] > least[ok])
    assert np.any(service.tpot_s[ok] < least[ok])
    longest = CATALOG.accept_length.groupby("id", sort=False)["mean_accept_length"].max().iloc[0]
    assert np.all(service.tpot_s[ok] > least[ok] / longest)


def test_no_prediction_beats_the_compute_bound(columns, grid):
    """Two FLOP per parameter and token at the published dense peak: a step, a prefill, and both together over time.

    Parts without a published peak have no such bound.
    """
    flop = 2 * parameters_read(columns["model"])
    rate = grid.n_chips * peak_of(columns["hardware"], grid.weight_precision)
    known = (grid.status == 0) & np.isfinite(rate)
    assert known.sum() > 50_000
    assert np.all((grid.step_s > flop * grid.batch / rate)[known])
    assert np.all((grid.prefill_s >= flop * columns["fresh_tokens"] / rate)[known])
    assert np.all((grid.ttft_s > flop * (columns["fresh_tokens"] + 1) / rate)[known])
    per_output = flop * (1 + columns["fresh_tokens"] / columns["output_tokens"])
    assert np.all((grid.output_tokens_per_s * per_output < rate)[known])
    drafted = serve(ServingConfig(**columns, speculation=0, draft_tokens=3), CATALOG)
    known = known & (drafted.status == 0)
    assert np.all((drafted.step_s > flop * drafted.batch * 4 / rate)[known])  # all four positions are verified


def test_requests_are_not_served_faster_than_they_are_prefilled(columns, grid):
    """Requests/s x prompt <= prefill throughput, whatever part of the others' prefill an engine lets delay decoding."""
    asked = grid.output_tokens_per_s / columns["output_tokens"] * columns["fresh_tokens"]
    known = (grid.status == 0) & (columns["fresh_tokens"] > 0)
    assert np.all((asked <= grid.prefill_tokens_per_s * (1 + SMALL))[known])


@pytest.mark.parametrize("drafted", [0, 1, 5])
@pytest.mark.parametrize("waits", [False, True], ids=["fits", "waits"])
def test_speed_per_user_never_rises_with_batch(columns, drafted, waits):
    """At a fixed number of chips, with and without drafts, also where what does not fit in memory waits."""
    extra = {"speculation": 0 if drafted else -1, "draft_tokens": drafted, "queue_overflow": waits}
    ratio = along_batch(serve(ServingConfig(**columns, **extra), CATALOG), "tokens_per_s_per_user")
    assert ratio.size > 50_000 and ratio.max() <= 1 + SMALL


@pytest.mark.parametrize("drafted", [0, 1, 5])
@pytest.mark.parametrize("waits", [False, True], ids=["fits", "waits"])
def test_throughput_never_falls_before_memory_ends_it(columns, drafted, waits):
    """Output of all chips at a fixed number of them. What ends it is a status, and it ends there for good."""
    extra = {"speculation": 0 if drafted else -1, "draft_tokens": drafted, "queue_overflow": waits}
    service = serve(ServingConfig(**columns, **extra), CATALOG)
    for name in ("output_tokens_per_s", "decode_tokens_per_s"):
        assert along_batch(service, name).min() >= 1 - SMALL
    served = (service.status == 0).reshape(SHAPE)
    assert not np.any(served[..., 1:] & ~served[..., :-1])


def test_the_better_layout_keeps_both(columns):
    """Where attention groups are chosen by batch, speed still never rises and throughput never falls."""
    service = serve_automatic(ServingConfig(**columns | {"dp": 0}), CATALOG)
    assert along_batch(service, "tokens_per_s_per_user").max() <= 1 + SMALL
    assert along_batch(service, "output_tokens_per_s").min() >= 1 - SMALL


def test_only_an_automatic_number_of_chips_breaks_either(columns):
    """The exception: chips are added with the batch, so speed may rise and a network may cost more than it brings.

    With the same number of chips on both sides both rules hold.
    """
    service = serve(ServingConfig(**columns | {"n_chips": 0}), CATALOG)
    values = {
        n: getattr(service, n).reshape(SHAPE) for n in ("tokens_per_s_per_user", "output_tokens_per_s", "n_chips")
    }
    served = (service.status == 0).reshape(SHAPE)
    pairs = served[..., 1:] & served[..., :-1]
    steps = {n: array[..., 1:] / array[..., :-1] for n, array in values.items()}
    faster = pairs & (steps["tokens_per_s_per_user"] > 1 + SMALL)
    less = pairs & (steps["output_tokens_per_s"] < 1 - SMALL)
    assert faster.any() and less.any()
    assert np.all(steps["n_chips"][faster | less] > 1)
    assert np.all(steps["n_chips"][pairs] >= 1)


@pytest.mark.parametrize("drafted", [0, 3])
def test_more_stages_never_speed_up_a_lone_request(drafted):
    """HBM: the same chips a stage, 1 to 32 stages. A token passes them all, and each hand-over costs time."""
    stages = np.array([1, 2, 3, 4, 8, 16, 32])
    axes = (AXES["model"], np.flatnonzero(~SRAM), AXES["weight_precision"], [1, 2, 4, 8], stages)
    model, hardware, precision, tp, pp = (array.ravel() for array in np.meshgrid(*axes, indexing="ij"))
    shape = tuple(len(axis) for axis in axes)
    service = serve(
        ServingConfig(model=model, hardware=hardware, weight_precision=precision, tp=tp, pp=pp, n_chips=tp * pp, batch=1,
                      context_tokens=8000, fresh_tokens=8000, speculation=0 if drafted else -1, draft_tokens=drafted),
        CATALOG,
    )  # fmt: skip
    ok = service.status == 0
    assert ok.sum() > 20_000 and np.all(service.stages[ok] == pp[ok])
    assert along_batch(service, "tpot_s", shape).min() > 1.0
    assert along_batch(service, "decode_tokens_per_s", shape).max() < 1.0


def test_more_stages_of_sram_never_speed_up_a_lone_request():
    """SRAM machines: stages follow from the chips. The exception is more chips a layer, once every layer has its own."""
    chips = np.unique(np.round(np.geomspace(1, 3000, 150)))
    axes = (AXES["model"], np.flatnonzero(SRAM), chips)
    model, hardware, n = (array.ravel() for array in np.meshgrid(*axes, indexing="ij"))
    shape = tuple(len(axis) for axis in axes)
    config = ServingConfig(model=model, hardware=hardware, n_chips=n, batch=1, context_tokens=2000, fresh_tokens=2000)
    service = serve(config, CATALOG)
    served = (service.status == 0).reshape(shape)
    group, stages, tpot = (getattr(service, name).reshape(shape) for name in ("tp", "stages", "tpot_s"))
    pairs = served[..., 1:] & served[..., :-1]
    same = pairs & (group[..., 1:] == group[..., :-1])
    deeper = same & (stages[..., 1:] > stages[..., :-1])
    step = tpot[..., 1:] / tpot[..., :-1]
    assert deeper.sum() > 500 and np.all(step[deeper] > 1.0) and np.all(step[same] >= 1.0)
    wider = pairs & (group[..., 1:] > group[..., :-1])
    layers = MODELS["layers"].to_numpy(float)[:, None, None]
    assert np.all((stages == layers)[..., 1:][wider])
    assert np.any(step[wider] < 1.0)


def test_stages_shorten_the_prefill_of_a_long_prompt_only():
    """The exception for TTFT: chunks of a long prompt follow each other through the stages; a short one has but one."""
    row, part = MODELS.index.get_loc("llama-3.1-70b"), HARDWARE.index.get_loc("b200_sxm")
    pp = np.array([1, 2, 4])
    for fresh, shorter in ((8000, False), (64_000, True)):
        service = serve(
            ServingConfig(model=row, hardware=part, tp=4, pp=pp, n_chips=4 * pp, fresh_tokens=fresh, context_tokens=fresh),
            CATALOG,
        )  # fmt: skip
        assert np.all((np.diff(service.ttft_s) < 0) == shorter) and np.all(np.diff(service.tpot_s) > 0)


def test_chip_energy_is_at_most_tdp_times_time(columns, grid):
    """Joule per token x tokens in an hour <= chips x TDP x an hour; unknown where no TDP is published."""
    tdp = HARDWARE["tdp_w"].to_numpy(float)[columns["hardware"]]
    joule = grid.energy_j_per_token * grid.output_tokens_per_s * 3600
    known = (grid.status == 0) & np.isfinite(tdp)
    assert np.all(joule[known] <= (grid.n_chips * tdp * 3600)[known] * (1 + SMALL))
    assert np.isnan(grid.energy_j_per_token[(grid.status == 0) & np.isnan(tdp)]).all()
    # no less than the products take at the peak's own FLOP per joule
    flop = 2 * parameters_read(columns["model"]) * (1 + columns["fresh_tokens"] / columns["output_tokens"])
    least = flop * tdp / peak_of(columns["hardware"], grid.weight_precision)
    known = known & np.isfinite(least)
    assert np.all(grid.energy_j_per_token[known] > least[known])


def test_chip_energy_in_traffic_is_at_most_tdp_times_time():
    """Chips that wait draw TDP as well: energy per token x tokens/s is chips x TDP at every load."""
    pairs = [("llama-3.1-70b", "h100_sxm"), ("deepseek-r1", "b200_sxm"), ("gpt-oss-120b", "mi355x")]
    model = np.repeat([MODELS.index.get_loc(name) for name, _part in pairs], 3)
    hardware = np.repeat([HARDWARE.index.get_loc(part) for _name, part in pairs], 3)
    rate = np.tile([0.01, 0.5, 2.0], 3)
    config = ServingConfig(model=model, hardware=hardware, n_chips=8)
    service = in_traffic(config, rate, np.ones(9, bool), serve(config, CATALOG), CATALOG)
    served = np.isfinite(service.tpot_s)
    assert served.sum() >= 6
    watts = service.energy_j_per_token * rate * 1024  # output_tokens of the configuration
    tdp = HARDWARE["tdp_w"].to_numpy(float)[hardware]
    assert watts[served] == pytest.approx(8 * tdp[served], rel=1e-6)


def test_parts_of_the_whole_grid_add_up(grid):
    ok = grid.status == 0
    total = sum(getattr(grid, part)[ok] for part in PARTS)
    assert total == pytest.approx(grid.tpot_s[ok], rel=1e-12)
    assert all(np.all(getattr(grid, part)[ok] >= 0) for part in PARTS)

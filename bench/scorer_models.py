"""Reads the models that bench/scorer.py turns into scorers: their weights by the names of BERT, and their tokenizers."""

import json
import pathlib
import struct
import unicodedata

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers

PACKED_FILE = "e5-small-q4.bin"
PARTS = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "ao": "attention.output.dense",
         "aln": "attention.output.LayerNorm", "fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm"}


class Model:
    """A model: `layers`, `heads`, `weights`, the ids `before` and `after` a text, and `tokens`, which returns the ids of a text."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        if (folder / PACKED_FILE).is_file():
            self.read_packed((folder / PACKED_FILE).read_bytes())
            return
        settings = json.loads((folder / "config.json").read_text())
        self.layers, self.heads = settings["num_hidden_layers"], settings["num_attention_heads"]
        self.weights = load_file(folder / "model.safetensors")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.before, self.after = (tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        self.tokens = lambda text: tokenizer.encode(text, add_special_tokens=False).ids

    def read_packed(self, data):
        """Reads a file in the format that crates/minilm/src/packed.rs describes."""
        place = 8

        def take(form):
            nonlocal place
            values = struct.unpack_from("<" + form, data, place)
            place += struct.calcsize("<" + form)
            return values

        hidden, self.layers, self.heads, _, _, _, _ = take("7I")
        _epsilon, _block, pieces, self.before, self.after, _padding, unknown, length = take("fI5IQ")
        bounds, scores = take(f"{pieces + 1}I"), take(f"{pieces}f")
        texts = data[place : place + length]
        place += length
        # Pieces without a score are marks, which no text contains.
        named = [(texts[first:end].decode() if score else f"\0{first}", score or -99.0)
                 for first, end, score in zip(bounds, bounds[1:], scores)]
        count, _bytes = take("2I")
        replaced = {}
        for _ in range(count):
            character, letters = take("IB")
            replaced[character] = "".join(map(chr, take(f"{letters}I")))
        self.weights = {}
        for _ in range(take("I")[0]):
            name = data[place + 2 : place + 2 + struct.unpack_from("<H", data, place)[0]].decode()
            place += 2 + len(name)
            is_packed, _values, start, size = take("BI2Q")
            values = np.frombuffer(data, np.uint8, size, start)
            if is_packed:
                values = unpacked(values)
            else:
                values = values.view("<f4").copy()
            weights = torch.from_numpy(values.reshape(-1))
            self.weights[bert_name(name)] = weights if name.endswith(".b") or "ln." in name else weights.view(-1, width(name, hidden))
        tokenizer = Tokenizer(models.Unigram(named, unk_id=unknown, byte_fallback=False))
        words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
        normal = lambda text: unicodedata.normalize("NFC", text.translate(replaced))
        self.tokens = lambda text: tokenizer.encode(normal(text), add_special_tokens=False).ids


def unpacked(data):
    """Returns the values of blocks of 32: a scale of 16 bits and 4 bits for each value."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, 18)
    bits = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], 1).astype(np.float32) - 8
    return (bits * blocks[:, :2].copy().view("<f2").astype(np.float32)).reshape(-1)


def width(name, hidden):
    """Returns the number of inputs of a tensor in a packed file."""
    return 4 * hidden if ".fo." in name else hidden


def bert_name(name):
    """Returns the name in the layout of BERT of a tensor in a packed file, such as `l0.q.w`."""
    embeddings = {"emb.word": "word_embeddings.weight", "emb.pos": "position_embeddings.weight",
                  "emb.type": "token_type_embeddings.weight", "emb.ln.w": "LayerNorm.weight", "emb.ln.b": "LayerNorm.bias"}
    if name in embeddings:
        return "embeddings." + embeddings[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{PARTS[part]}." + {"w": "weight", "b": "bias"}[kind]

"""Trains the adapter with which all-MiniLM-L6-v2 scores how well sentences answer a question (crates/minilm/src/scorer.bin).

    python3 bench/scorer.py --model FOLDER --out scorer.bin FILE...

FOLDER contains the model; each FILE has questions about paragraphs in the form of SQuAD. The adapter in the repository was trained
on the sets new_wiki, reddit and amazon_reviews of SQuADShifts (Miller et al., "The Effect of Natural Distribution Shift on Question
Answering Models", ICML 2020). Each question is trained with its own paragraph and, in six of ten cases, with a similar
paragraph that does not answer it. The changes have rank 16 (LoRA, Hu et al., ICLR 2022) and are stored in 4 bits.

Needs torch, tokenizers, safetensors and numpy; half an hour on two processors with bfloat16 units.
"""

import argparse
import collections
import json
import math
import random
import re
import struct
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

RANK = 16
SCALE = 2.0
HIDDEN, HEADS, LAYERS = 384, 12, 6
MAX_QUESTION, MAX_TOKENS = 40, 224
BATCH = 32
RATE = 1e-3
UNANSWERABLE = 0.6
HELD_OUT = 1 / 18
DENSE = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
         "intermediate.dense", "output.dense"]


class Dense(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        self.weight, self.bias = frozen(weights[name + ".weight"]), frozen(weights[name + ".bias"])
        outputs, inputs = self.weight.shape
        self.A = nn.Parameter(torch.randn(RANK, inputs) / math.sqrt(inputs))
        self.B = nn.Parameter(torch.zeros(outputs, RANK))

    def forward(self, x):
        return F.linear(x, self.weight + self.B @ self.A * SCALE, self.bias)


class Norm(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        self.weight, self.bias = frozen(weights[name + ".weight"]), frozen(weights[name + ".bias"])

    def forward(self, x):
        return F.layer_norm(x, (HIDDEN,), self.weight, self.bias, 1e-12)


class Layer(nn.Module):
    def __init__(self, weights, at):
        super().__init__()
        name = f"encoder.layer.{at}."
        self.dense = nn.ModuleList(Dense(weights, name + part) for part in DENSE)
        self.after_attention = Norm(weights, name + "attention.output.LayerNorm")
        self.after = Norm(weights, name + "output.LayerNorm")

    def forward(self, x, mask):
        query, key, value, out, widen, narrow = self.dense
        texts, tokens, _ = x.shape
        heads = lambda y: y.view(texts, tokens, HEADS, HIDDEN // HEADS).transpose(1, 2)
        scores = heads(query(x)) @ heads(key(x)).transpose(-1, -2) * (HIDDEN // HEADS) ** -0.5 + mask
        attended = (torch.softmax(scores, -1) @ heads(value(x))).transpose(1, 2).reshape(texts, tokens, HIDDEN)
        x = self.after_attention(x + out(attended))
        return self.after(x + narrow(F.gelu(widen(x))))


class Scorer(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.words = frozen(weights["embeddings.word_embeddings.weight"])
        self.places = frozen(weights["embeddings.position_embeddings.weight"]
                             + weights["embeddings.token_type_embeddings.weight"][0])
        self.norm = Norm(weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(Layer(weights, at) for at in range(LAYERS))
        self.head = nn.Parameter(torch.randn(HIDDEN) * 0.02)

    def forward(self, ids, present):
        x = self.norm(self.words[ids] + self.places[: ids.shape[1]])
        mask = torch.zeros(present.shape).masked_fill(~present, -1e4)[:, None, None, :].to(torch.bfloat16)
        with torch.autocast("cpu", torch.bfloat16):
            for layer in self.layers:
                x = layer(x, mask)
        return x.float() @ self.head


def frozen(tensor):
    return nn.Parameter(tensor, requires_grad=False)


class Questions:
    """Questions with their paragraphs, and for each question similar paragraphs without its answer."""

    def __init__(self, files, tokenizer):
        self.paragraphs, questions = [], []
        for file in files:
            for article in json.load(open(file, encoding="utf-8"))["data"]:
                for paragraph in article["paragraphs"]:
                    for entry in paragraph["qas"]:
                        answers = [(answer["answer_start"], answer["text"]) for answer in entry["answers"]]
                        questions.append((len(self.paragraphs), entry["question"], answers))
                    self.paragraphs.append(paragraph["context"])
        encode = lambda text: tokenizer.encode(text, add_special_tokens=False)
        self.tokens = [(encoded.ids, encoded.offsets) for encoded in map(encode, self.paragraphs)]
        self.sentences = [sentences(text) for text in self.paragraphs]
        similar = self.similar()
        held_out = set(random.sample(range(len(self.paragraphs)), int(len(self.paragraphs) * HELD_OUT)))
        self.train, self.test = [], []
        for at, question, answers in questions:
            has_answer = lambda other: any(text.lower() in self.paragraphs[other].lower() for _, text in answers)
            others = [other for other in similar(question, at) if not has_answer(other)][:3]
            item = (encode(question).ids[:MAX_QUESTION], at, [start for start, _ in answers], others)
            (self.test if at in held_out else self.train).append(item)

    def similar(self):
        """Returns a function from a question to the paragraphs that BM25 finds for it."""
        words = lambda text: re.findall(r"\w+", text.lower())
        counts = [collections.Counter(words(text)) for text in self.paragraphs]
        spread = collections.Counter(word for count in counts for word in count)
        total, mean = len(counts), sum(sum(count.values()) for count in counts) / len(counts)
        places = collections.defaultdict(list)
        for at, count in enumerate(counts):
            length = 0.25 + 0.75 * sum(count.values()) / mean
            for word, times in count.items():
                rarity = math.log(1 + (total - spread[word] + 0.5) / (spread[word] + 0.5))
                places[word].append((at, rarity * times * 2.2 / (times + 1.2 * length)))

        def find(question, own):
            scores = collections.Counter()
            for word in set(words(question)):
                if spread[word] <= total * 0.2:
                    for at, score in places[word]:
                        scores[at] += score
            return [at for at, _ in scores.most_common(5) if at != own][:4]

        return find

    def example(self, question, at, starts):
        """Returns token ids, the place of the first token of the text, and the places of answers' first tokens and sentences."""
        ids, offsets = self.tokens[at]
        room = MAX_TOKENS - 3 - len(question)
        first = 0
        if len(ids) > room:
            answer = next((i for i, (_, end) in enumerate(offsets) if starts and end > starts[0]), None)
            low, high = (0, len(ids) - room) if answer is None else (answer - room + 8, answer)
            low, high = max(low, 0), min(max(high, 0), len(ids) - room)
            first = random.randint(min(low, high), max(low, high))
        base, offsets = 2 + len(question), offsets[first : first + room]
        tokens, spans = set(), set()
        for start in starts:
            tokens.update(base + i for i, (begin, end) in enumerate(offsets) if begin <= start < end)
            for begin, end in self.sentences[at]:
                if begin <= start < end:
                    spans.update(base + i for i, (token, _) in enumerate(offsets) if begin <= token < end)
        return [101] + question + [102] + ids[first : first + room] + [102], base, tokens or {0}, spans or {0}


def sentences(text):
    found, start = [], 0
    for end in re.finditer(r"[.!?][\"')]*\s+(?=[A-Z0-9\"'(])|\n+", text):
        found.append((start, end.end()))
        start = end.end()
    return found + [(start, len(text))] if start < len(text) else found


def batch(examples):
    shape = (len(examples), max(len(ids) for ids, *_ in examples))
    ids = torch.zeros(shape, dtype=torch.long)
    present, of_text, tokens, spans = (torch.zeros(shape, dtype=torch.bool) for _ in range(4))
    for row, (sequence, base, starts, sentence) in enumerate(examples):
        ids[row, : len(sequence)] = torch.tensor(sequence)
        present[row, : len(sequence)] = True
        of_text[row, base : len(sequence) - 1] = True
        of_text[row, 0] = True
        tokens[row, list(starts)] = True
        spans[row, list(sentence)] = True
    return ids, present, of_text, tokens, spans


def loss_of(scores, of_text, tokens, spans):
    scores = scores.masked_fill(~of_text, -1e9)
    total = torch.logsumexp(scores, 1)
    missed = lambda gold: (total - torch.logsumexp(scores.masked_fill(~gold, -1e9), 1)).mean()
    return 0.5 * missed(tokens) + 0.5 * missed(spans)


def batches(questions):
    examples = []
    for question, at, starts, others in questions.train:
        examples.append((question, at, starts))
        if others and random.random() < UNANSWERABLE:
            examples.append((question, random.choice(others), []))
    random.shuffle(examples)
    for first in range(0, len(examples), BATCH * 40):
        part = [questions.example(*example) for example in examples[first : first + BATCH * 40]]
        part.sort(key=lambda example: len(example[0]) + 8 * random.random())
        groups = [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
        random.shuffle(groups)
        yield from map(batch, groups)


def evaluate(model, questions):
    """Prints how often the best sentence of a paragraph answers, and how many answers are right if some may be wrong."""
    model.eval()
    results = []
    with torch.no_grad():
        for question, at, starts, others in questions.test:
            for place, gold in [(at, starts)] + [(other, []) for other in others[:1]]:
                example = questions.example(question, place, gold)
                scores = model(*batch([example])[:2])[0]
                text = scores[example[1] : len(example[0]) - 1]
                right = example[1] + int(text.argmax()) in example[3] if gold else None
                results.append((float(torch.logsumexp(text, 0) - scores[0]), right))
    model.train()
    answerable = sum(right is not None for _, right in results)
    print(f"right sentence {sum(right is True for _, right in results) / answerable:.3f}", end="")
    results.sort(key=lambda result: -result[0])
    for limit in (0.05, 0.1, 0.2):
        right = wrong = best = 0
        for _, is_right in results:
            right, wrong = right + (is_right is True), wrong + (is_right is not True)
            best = max(best, right if wrong <= limit * answerable else 0)
        print(f"; {best / answerable:.3f} right with {limit:.0%} wrong", end="")
    print(flush=True)


def pack(row):
    """Returns a row in blocks of 32 values: a scale of 16 bits and 4 bits for each value."""
    packed = b""
    for block in np.pad(row, (0, -len(row) % 32)).reshape(-1, 32):
        options = []
        for scale in [np.float16(sign * np.abs(block).max() / steps) for steps in (6.5, 7, 7.5, 8, 9) for sign in (1, -1)]:
            bits = np.clip(np.round(block / np.float32(scale)) + 8, 0, 15) if scale else np.full(32, 8)
            options.append((np.square((bits - 8) * np.float32(scale) - block).sum(), scale, bits.astype(int)))
        _, scale, bits = min(options, key=lambda option: option[0])
        packed += struct.pack("<e", scale) + bytes(int(low | high << 4) for low, high in zip(bits[:16], bits[16:]))
    return packed


def write(model, file):
    data = struct.pack("<I", RANK)
    for layer in model.layers:
        for dense in layer.dense:
            left, sizes, right = np.linalg.svd((dense.B @ dense.A * SCALE).detach().numpy(), full_matrices=False)
            root = np.sqrt(sizes[:RANK])
            rows = list(root[:, None] * right[:RANK]) + list((left[:, :RANK] * root).T)
            data += b"".join(map(pack, rows))
    data += model.head.detach().numpy().astype("<f4").tobytes()
    open(file, "wb").write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--out", required=True, help="file for the adapter")
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument("files", nargs="+", metavar="FILE", help="questions in the form of SQuAD")
    options = parser.parse_args()
    torch.manual_seed(1)
    random.seed(7)
    tokenizer = Tokenizer.from_file(f"{options.model}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    questions = Questions(options.files, tokenizer)
    model = Scorer(load_file(f"{options.model}/model.safetensors"))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    steps = int(options.epochs * (1 + UNANSWERABLE) * len(questions.train) / BATCH)
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01, betas=(0.9, 0.98))
    rate = lambda step: min(1, (step + 1) / 100) * max(0.02, 1 - step / steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    step, losses, start = 0, [], time.time()
    while step < steps:
        for ids, present, of_text, tokens, spans in batches(questions):
            loss = loss_of(model(ids, present), of_text, tokens, spans)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            losses.append(loss.item())
            if step % 50 == 0:
                print(f"{step}/{steps}: loss {sum(losses[-50:]) / 50:.3f}, {time.time() - start:.0f} s", flush=True)
            if step == steps:
                break
    evaluate(model, questions)
    write(model, options.out)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains the adapter with which a local model scores how well sentences answer a question (crates/minilm/src/scorer/NAME.bin).

    python3 bench/scorer.py --model FOLDER --out NAME.bin FILE...
    python3 bench/scorer.py --model FOLDER --out NAME.bin --from NAME.bin --steps 170 --rate 2.5e-4 \
        --graphloom BINARY --features BINARY SET... FILE...

FOLDER contains the model, as `graphloom model pull` downloads it. Each FILE has questions about paragraphs: in the form of SQuAD
(.json), of FriendsQA (.json, with utterances), or of QED (.jsonlines). `FILE=.5` takes half of its questions. Each SET is a folder
with documents/ and questions.tsv in the form of bench/lines; --features is graphloom-bench-line-features. Its questions are trained
with the windows that Graphloom reads for them. --from continues with an adapter, and --share .5 keeps half of the change to it. The
adapters in the repository were trained on

- all-minilm-l6-v2: new_wiki, reddit and amazon_reviews of SQuADShifts (Miller et al., "The Effect of Natural Distribution Shift on
  Question Answering Models", ICML 2020);
- multilingual-e5-small: the same, of new_wiki .8, of reddit .45 and of amazon_reviews .3; QED (Lamm et al., TACL 2021), whose
  questions people typed into a search engine; FriendsQA (Yang and Choi, SIGDIAL 2019), about chats; the development part of
  CMRC 2018 (Cui et al., EMNLP 2019), in Chinese; PolicyQA (Ahmad et al., 2020), .22; every third file of JaQuAD (So et al., 2022),
  in Japanese, .35; and, of the articles that `bench/squad.py --half 0` takes, the development questions of SQuAD 2.0 (Rajpurkar
  et al., ACL 2018), half of them without an answer, and XQuAD (Artetxe et al., ACL 2020) in German, Chinese, Spanish and Russian,
  and half of it in Romanian and Turkish. It was trained with all of these after a first training without the last three, and
  then, for 640 steps at a rate of 1.7e-4, with 6% of them and 3,982 questions in eleven languages about 52 collections of manuals,
  handbooks, laws, recipes, minutes and chats, each with the windows that Graphloom reads for it. One in six has no answer. These
  questions are not in the repository, because each comes with the sentence that answers it, and these are others' words.
  Then it was trained with the sets of bench/scorer, whose 2,368 questions were written for this, a third of them without an answer: 170
  steps at a rate of 2.5e-4 with 20 sets, 165 at 2.2e-4 with 32, and, with --share .5, 260 at 2.2e-4 with 13 of these and 20 more; each
  time also with FairytaleQA (Xu et al., ACL 2022), .15, .1 and .1 of its questions whose answer is in one section, in the form of SQuAD,
  .01 to .02 of SQuADShifts, and .1 of CMRC.

A question about a paragraph is trained with its own paragraph and, in six of ten cases, with a similar one of the same file that does
not answer it; a question of a set with each window that holds a part of the answer and with two others, or with four if it has no
answer. The changes have rank 16 (LoRA, Hu et al., ICLR 2022) and are stored in 4 bits.

Needs torch, tokenizers, safetensors and numpy; sets also need scikit-learn. On two processors, the adapter of MiniLM took about an hour
and that of e5 two, and 170 steps with sets twenty minutes.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import lines
from scorer_models import Model, unpacked

RANK = 16
SCALE = 2.0
HIDDEN = 384
MAX_QUESTION, MAX_TEXT = 40, 200
BATCH = 32
RATE = 1e-3
UNANSWERABLE = 0.6
# Windows that do not answer: of the first NEAR and FAR of the rest, so many for a question with an answer, and for one without.
NEAR, FAR = 4, 2
OTHERS, OTHERS_ALONE = 2, 4
HELD_OUT = 1 / 20
DENSE = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
         "intermediate.dense", "output.dense"]


class Dense(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        self.weight, self.bias = weights[name + ".weight"], weights[name + ".bias"]
        outputs, inputs = self.weight.shape
        self.A = nn.Parameter(torch.randn(RANK, inputs) / math.sqrt(inputs))
        self.B = nn.Parameter(torch.zeros(outputs, RANK))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.A), self.B * SCALE)


class Norm(nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        self.weight, self.bias = weights[name + ".weight"], weights[name + ".bias"]

    def forward(self, x):
        return F.layer_norm(x, (HIDDEN,), self.weight, self.bias, 1e-12)


class Layer(nn.Module):
    def __init__(self, model, at):
        super().__init__()
        name = f"encoder.layer.{at}."
        self.heads = model.heads
        self.dense = nn.ModuleList(Dense(model.weights, name + part) for part in DENSE)
        self.after_attention = Norm(model.weights, name + "attention.output.LayerNorm")
        self.after = Norm(model.weights, name + "output.LayerNorm")

    def forward(self, x, mask):
        query, key, value, out, widen, narrow = self.dense
        texts, tokens, _ = x.shape
        heads = lambda y: y.view(texts, tokens, self.heads, HIDDEN // self.heads).transpose(1, 2)
        scores = heads(query(x)) @ heads(key(x)).transpose(-1, -2) * (HIDDEN // self.heads) ** -0.5 + mask
        attended = (torch.softmax(scores, -1) @ heads(value(x))).transpose(1, 2).reshape(texts, tokens, HIDDEN)
        x = self.after_attention(x + out(attended))
        return self.after(x + narrow(F.gelu(widen(x), approximate="tanh")))


class Scorer(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.base, weights = model, model.weights
        self.words = weights["embeddings.word_embeddings.weight"]
        self.places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        self.norm = Norm(weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(Layer(model, at) for at in range(model.layers))
        self.head = nn.Parameter(torch.randn(HIDDEN) * 0.02)

    def forward(self, ids, present):
        x = self.norm(self.words[ids] + self.places[: ids.shape[1]])
        mask = torch.zeros(present.shape).masked_fill(~present, -1e4)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return x @ self.head


def paragraphs(file):
    """Yields the sentences of each paragraph, and its questions with answers: the index of a sentence, the place in it, the text.

    A question without an answer in its paragraph (SQuAD 2.0) has none.
    """
    with open(file, encoding="utf-8") as text:
        if file.endswith(".jsonlines"):
            yield from of_qed(map(json.loads, text))
            return
        for article in json.load(text)["data"]:
            for paragraph in article["paragraphs"]:
                yield of_chat(paragraph) if "utterances:" in paragraph else of_squad(paragraph)


def of_squad(paragraph):
    text = paragraph["context"]
    ends = [end.end() for end in re.finditer(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(\[])|[。！？；]+[”』」）]*|\n+", text)]
    bounds = sorted({0, len(text), *ends})
    sentences = [text[start:end] for start, end in zip(bounds, bounds[1:])]
    place = lambda at: next((i, at - start) for i, start in reversed(list(enumerate(bounds[:-1]))) if start <= at)
    asked = []
    for entry in paragraph["qas"]:
        answers = [(answer["answer_start"], answer["text"]) for answer in entry["answers"]]
        found = [(*place(at), words) for at, words in answers if text[at:].startswith(words)]
        if found or entry.get("is_impossible"):
            asked.append((entry["question"], found))
    return sentences, asked


def of_qed(rows):
    for row in rows:
        text = row["paragraph_text"]
        bounds = row["sentence_starts"] + [len(text)]
        sentences = [joined(text[start:end].strip()) + " " for start, end in zip(bounds, bounds[1:])]
        answers = []
        for (start, _), words in zip(row["answer_spans"], row["answer_text"]):
            for i, (first, end) in enumerate(zip(bounds, bounds[1:])):
                if first <= start < end:
                    answers.append((i, len(joined(text[first:start].lstrip())), joined(words)))
        yield sentences, [(row["question_text"], answers)] if answers else []


def of_chat(paragraph):
    turns = paragraph["utterances:"]
    speakers = [", ".join(turn["speakers"]) + ": " for turn in turns]
    sentences = [speaker + joined(turn["utterance"]) + "\n" for speaker, turn in zip(speakers, turns)]
    asked = []
    for entry in paragraph["qas"]:
        answers = []
        for answer in entry["answers"]:
            i, words = answer["utterance_id"], joined(answer["answer_text"])
            at = 0 if answer["is_speaker"] else sentences[i].find(words, len(speakers[i]))
            answers += [(i, at, words)] if at >= 0 else []
        asked += [(entry["question"], answers)] if answers else []
    return sentences, asked


def joined(words):
    """Returns text whose punctuation was separated from the words as it is usually written."""
    words = words.replace("`` ", '"').replace(" ''", '"').replace(" -- ", " - ")
    words = re.sub(r" ([,.;:?!)\]%]|'s\b|n't\b|'re\b|'ll\b|'ve\b|'d\b|'m\b)", r"\1", words)
    return re.sub(r"([(\[$]) ", r"\1", words)


def windows(folder, graphloom, features):
    """Yields the questions of a set, each with windows that hold a part of the answer and others: a window has sentences and answers.

    An answer is the index of a sentence, and the place in it.
    """
    asked = lines.with_passages(graphloom, lines.questions(folder), sorted((folder / "documents").iterdir()))
    given = "".join(json.dumps({"question": one.text, "passages": one.passages}) + "\n" for one in asked)
    printed = subprocess.run([features, "--windows"], input=given.encode(), stdout=subprocess.PIPE, check=True).stdout
    for one, read in zip(asked, map(json.loads, printed.splitlines()), strict=True):
        found = [(sentences, answers_in(sentences, one.parts)) for sentences in read]
        right = [window for window in found if window[1]]
        others = [window for window in found if not window[1]]
        # The first are the likeliest to be taken for an answer.
        others = others[:NEAR] + random.sample(others[NEAR:], min(len(others[NEAR:]), FAR))
        wanted = OTHERS if one.parts else OTHERS_ALONE
        yield one.text, right + random.sample(others, min(len(others), wanted))


def answers_in(sentences, parts):
    """Returns the index of each sentence that holds a part of the answer, and the place of its first such part."""
    found = {}
    for i, sentence in enumerate(sentences):
        for part in parts:
            if place := re.search(part, sentence, re.I | re.S):
                found.setdefault(i, place.start())
    return sorted(found.items())


class Questions:
    """Questions with their paragraphs or windows, and for each question about a paragraph similar ones of its file without its answer."""

    def __init__(self, files, model, graphloom=None, features=None):
        self.marks = (model.before, model.after)
        self.tokens, self.train, self.test = [], [], []
        for file in files:
            if (folder := pathlib.Path(file).resolve()).is_dir():
                for question, found in windows(folder, graphloom, features):
                    for sentences, answers in found:
                        gold = [(i, len(model.tokens(sentences[i][:place]))) for i, place in answers]
                        self.train.append((model.tokens(question)[:MAX_QUESTION], len(self.tokens), gold, []))
                        self.tokens.append([model.tokens(sentence) for sentence in sentences])
                continue
            file, _, share = file.partition("=")
            first, texts, asked = len(self.tokens), [], []
            for sentences, questions in paragraphs(file):
                asked += [(len(self.tokens), question, answers) for question, answers in questions]
                self.tokens.append([model.tokens(sentence) for sentence in sentences])
                texts.append(sentences)
            similar = similar_to(["".join(sentences) for sentences in texts])
            held_out = set(random.sample(range(len(texts)), int(len(texts) * HELD_OUT)))
            for at, question, answers in asked:
                has_answer = lambda other: any(words.lower() in "".join(texts[other]).lower() for *_, words in answers)
                others = [first + other for other in similar(question, at - first) if not has_answer(other)][:3]
                gold = [(i, len(model.tokens(texts[at - first][i][:place]))) for i, place, _ in answers]
                item = (model.tokens(question)[:MAX_QUESTION], at, gold, others)
                if at - first in held_out:
                    self.test.append(item)
                elif random.random() < float(share or 1):
                    self.train.append(item)

    def example(self, question, at, gold):
        """Returns token ids, the place of the text's first token, and the places of answers' first tokens and sentences."""
        sentences = self.tokens[at]
        lengths = list(map(len, sentences))
        first = gold[0][0] if gold else random.randrange(len(sentences))
        end, room = first + 1, MAX_TEXT - lengths[first]
        while options := [i for i in (first - 1, end) if 0 <= i < len(sentences) and lengths[i] <= room]:
            chosen = random.choice(options)
            first, end, room = min(first, chosen), max(end, chosen + 1), room - lengths[chosen]
        before, after = self.marks
        ids = [before] + question + [after]
        base, starts = len(ids), {}
        for i in range(first, end):
            starts[i] = len(ids)
            ids = ids + sentences[i]
        ids = ids[: base + MAX_TEXT] + [after]
        tokens, spans = set(), set()
        for i, place in gold:
            if starts.get(i, len(ids)) < len(ids) - 1:
                tokens.add(min(starts[i] + min(place, lengths[i] - 1), len(ids) - 2))
                spans.update(range(starts[i], min(starts[i] + lengths[i], len(ids) - 1)))
        return ids, base, tokens or {0}, spans or {0}


def similar_to(texts):
    """Returns a function from a question to the texts that BM25 finds for it, without its own."""
    words = lambda text: re.findall(r"[一-鿿]|[^\W一-鿿]+", text.lower())
    counts = [collections.Counter(words(text)) for text in texts]
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
    for question, at, gold, others in questions.train:
        examples.append((question, at, gold))
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
    """Prints how often the best sentence of a paragraph answers, and how many answers are right, and from which odds, if some may be wrong."""
    model.eval()
    results = []
    with torch.no_grad():
        for question, at, gold, others in questions.test:
            for place, answers in [(at, gold)] + [(other, []) for other in others[:1]]:
                example = questions.example(question, place, answers)
                scores = model(*batch([example])[:2])[0]
                text = scores[example[1] : len(example[0]) - 1]
                right = example[1] + int(text.argmax()) in example[3] if answers else None
                results.append((float(torch.logsumexp(text, 0) - scores[0]), right))
    model.train()
    answerable = sum(right is not None for _, right in results)
    print(f"right sentence {sum(right is True for _, right in results) / answerable:.3f}", end="")
    results.sort(key=lambda result: -result[0])
    for limit in (0.05, 0.1, 0.2):
        right = wrong = best = least = 0
        for odds, is_right in results:
            right, wrong = right + (is_right is True), wrong + (is_right is not True)
            if wrong <= limit * answerable and right > best:
                best, least = right, odds
        print(f"; {best / answerable:.3f} right with {limit:.0%} wrong, from {least:.2f}", end="")
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


def read(model, file):
    """Reads an adapter into a model."""
    data = pathlib.Path(file).read_bytes()
    place = 4

    def rows(length):
        nonlocal place
        size = -(-length // 32) * 18
        values = [unpacked(data[at : at + size])[:length] for at in range(place, place + RANK * size, size)]
        place += RANK * size
        return torch.from_numpy(np.stack(values))

    with torch.no_grad():
        for layer in model.layers:
            for dense in layer.dense:
                outputs, inputs = dense.weight.shape
                dense.A.copy_(rows(inputs))
                dense.B.copy_(rows(outputs).T / SCALE)
        model.head.copy_(torch.from_numpy(np.frombuffer(data[place:], "<f4").copy()))


def keep(share, model, start):
    """Keeps a share of the change of a model since the start of its training, from an adapter in the file `start`."""
    before = Scorer(model.base)
    read(before, start)
    with torch.no_grad():
        for layer, old_layer in zip(model.layers, before.layers):
            for dense, old in zip(layer.dense, old_layer.dense):
                # Of twice the rank, until it is written.
                dense.A = nn.Parameter(torch.cat([dense.A, old.A]))
                dense.B = nn.Parameter(torch.cat([dense.B * share, old.B * (1 - share)], 1))
        model.head.lerp_(before.head, 1 - share)


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
    parser.add_argument("--model", required=True, help="folder of the model")
    parser.add_argument("--out", required=True, help="file for the adapter")
    parser.add_argument("--from", dest="start", help="adapter to continue with (default: none)")
    parser.add_argument("--share", type=float, default=1, help="how much of the change to that adapter is kept")
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument("--steps", type=int, help="number of steps, instead of --epochs")
    parser.add_argument("--rate", type=float, default=RATE, help="highest learning rate")
    parser.add_argument("--graphloom", type=os.path.abspath, help="the program, for sets")
    parser.add_argument("--features", type=os.path.abspath, help="graphloom-bench-line-features, for sets")
    parser.add_argument("files", nargs="+", metavar="FILE", help="questions about paragraphs, or a set")
    options = parser.parse_args()
    if options.share != 1 and not options.start:
        parser.error("--share needs --from")
    torch.manual_seed(1)
    random.seed(7)
    base = Model(options.model)
    questions = Questions(options.files, base, options.graphloom, options.features)
    model = Scorer(base)
    if options.start:
        read(model, options.start)
    trained = list(model.parameters())
    steps = options.steps or int(options.epochs * (1 + UNANSWERABLE) * len(questions.train) / BATCH)
    optimizer = torch.optim.AdamW(trained, lr=options.rate, weight_decay=0.01, betas=(0.9, 0.98))
    rate = lambda step: min(1, (step + 1) / min(100, steps / 8)) * max(0.02, 1 - step / steps)
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
    if options.share != 1:
        keep(options.share, model, options.start)
    if questions.test:
        evaluate(model, questions)
    write(model, options.out)


if __name__ == "__main__":
    main()

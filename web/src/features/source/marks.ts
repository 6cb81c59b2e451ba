/** Letters of a passage on a page: characters `start` to `end` of the page's text item `item`. */
export interface Mark {
  item: number;
  start: number;
  end: number;
}

/** Letters that a passage and a page must have in a row, to be looked at. */
const SEED = 10;
/** Letters in a row that count as words of the passage, unless it is shorter. */
const MIN_LETTERS = 20;
/** Letters between two such rows that belong to them, such as a ligature that was read otherwise. */
const MAX_GAP = 8;
/** Places of a seed that are looked at, so that a page of dots is as fast as any. */
const MAX_PLACES = 50;

interface Letters {
  text: string;
  /** Where each letter comes from. */
  places: Mark[];
}

/**
 * Where a passage stands in the text items of a page.
 *
 * Only letters and digits are compared, without case and accents, since readers of documents join words that lines divide and
 * put columns in order. Of a passage that the page shows in pieces, every piece of some words is found.
 */
export function marksOf(items: string[], passage: string): Mark[] {
  const page = lettersOf(items);
  const found = [passage, withoutColumns(passage)].map(text => foundIn(page.text, lettersOf([text]).text));
  const length = ({ runs }: Found) => runs.reduce((sum, { start, end }) => sum + end - start, 0);
  const [best] = found.sort((a, b) => length(b) - length(a));
  return (best?.runs ?? []).flatMap(({ start, end }) => {
    const marks = placed(page.places.slice(start, end));
    return best?.isWhole === true ? marks : trimmed(marks);
  });
}

/** Without a letter or two at either end that stand in another item: they are of other words. */
function trimmed(marks: Mark[]): Mark[] {
  const isStray = ({ start, end }: Mark) => end - start < 3;
  const [first, last] = [marks.at(0), marks.at(-1)];
  if (marks.length > 1 && first && isStray(first)) return trimmed(marks.slice(1));
  if (marks.length > 1 && last && isStray(last)) return trimmed(marks.slice(0, -1));
  return marks;
}

/** A text in which rows of tables, such as `item: pipes | cost: 12`, have their values alone. */
function withoutColumns(text: string): string {
  return text
    .split('\n')
    .map(line => (line.includes(' | ') ? line.replace(/(^| \| )[^:|]{1,80}: /g, ' ') : line))
    .join('\n');
}

interface Found {
  runs: Run[];
  /** Whether the page has all of it in one piece. */
  isWhole: boolean;
}

function foundIn(page: string, wanted: string): Found {
  if (wanted === '') return { runs: [], isWhole: false };
  const start = page.indexOf(wanted);
  if (start >= 0) return { runs: [{ start, end: start + wanted.length }], isWhole: true };
  return { runs: joined(runsOf(page, wanted)), isWhole: false };
}

interface Run {
  start: number;
  end: number;
}

function lettersOf(items: string[]): Letters {
  let text = '';
  const places: Mark[] = [];
  items.forEach((string, item) => {
    let start = 0;
    for (const character of string) {
      const end = start + character.length;
      const folded = character
        .normalize('NFKD')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]/gu, '');
      text += folded;
      for (let unit = 0; unit < folded.length; unit += 1) places.push({ item, start, end });
      start = end;
    }
  });
  return { text, places };
}

/** The parts of `page` that `wanted` holds too, in the order of `wanted`: at each letter the longest, of these the nearest. */
function runsOf(page: string, wanted: string): Run[] {
  const seeds = new Map<string, number[]>();
  for (let at = 0; at + SEED <= page.length; at += 1) {
    const seed = page.slice(at, at + SEED);
    const places = seeds.get(seed);
    if (!places) seeds.set(seed, [at]);
    else if (places.length < MAX_PLACES) places.push(at);
  }
  const least = Math.min(MIN_LETTERS, wanted.length);
  const runs: Run[] = [];
  let [at, last] = [0, 0];
  while (at + SEED <= wanted.length) {
    let best = { start: 0, end: 0 };
    for (const start of seeds.get(wanted.slice(at, at + SEED)) ?? []) {
      let length = SEED;
      while (
        at + length < wanted.length &&
        start + length < page.length &&
        page[start + length] === wanted[at + length]
      )
        length += 1;
      const known = best.end - best.start;
      const isNearer = Math.abs(start - last) < Math.abs(best.start - last);
      if (length > known || (length === known && isNearer)) best = { start, end: start + length };
    }
    const length = best.end - best.start;
    if (length >= least) {
      runs.push(best);
      last = best.end;
      at += length;
    } else at += 1;
  }
  return runs;
}

/** Runs in the order of the page; those that nearly touch are one. */
function joined(runs: Run[]): Run[] {
  const sorted = [...runs].sort((a, b) => a.start - b.start);
  const whole: Run[] = [];
  for (const run of sorted) {
    const before = whole.at(-1);
    if (before && run.start - before.end <= MAX_GAP) before.end = Math.max(before.end, run.end);
    else whole.push({ ...run });
  }
  return whole;
}

/** One mark for each item, from its first letter to its last. */
function placed(places: Mark[]): Mark[] {
  const marks: Mark[] = [];
  for (const place of places) {
    const before = marks.at(-1);
    if (before?.item === place.item) before.end = Math.max(before.end, place.end);
    else marks.push({ ...place });
  }
  return marks;
}

import type { Schemas } from '../../api/client';
import { type Problem, problemFrom } from '../../api/problem';
import type { ServerEvent } from '../../api/sse';
import type { Range } from '../../markdown/parse';

/** What was asked, and how. */
export interface Question {
  text: string;
  mode: NonNullable<Schemas['QueryRequest']['mode']>;
  filter: Schemas['FilterItem'] | undefined;
}

/**
 * `searching` until the passages are found, then `writing` until an end. A kept answer is `removed` with a document that it
 * rests on.
 */
export type Phase = 'searching' | 'writing' | 'done' | 'stopped' | 'failed' | 'removed';

/** When things happened, in milliseconds. */
interface Times {
  asked: number;
  /** When the passages were found. */
  found: number | undefined;
  ended: number | undefined;
}

/** A question with its answer as far as it has arrived. */
export interface Answer {
  id: number;
  question: Question;
  /** The conversation before it, as the answer model gets it. */
  history: Schemas['HistoryMessage'][];
  times: Times;
  phase: Phase;
  text: string;
  context: Schemas['ContextEvent'] | undefined;
  citations: Schemas['CitationItem'][];
  usage: Schemas['UsageEvent'] | undefined;
  done: Schemas['Done'] | undefined;
  problem: Problem | undefined;
  /** Its place in the conversation, once it is kept. */
  exchange: number | undefined;
}

/** An answer of which nothing has arrived. */
export function newAnswer(
  id: number,
  question: Question,
  history: Schemas['HistoryMessage'][],
  now: number,
): Answer {
  return {
    id,
    question,
    history,
    times: { asked: now, found: undefined, ended: undefined },
    phase: 'searching',
    text: '',
    context: undefined,
    citations: [],
    usage: undefined,
    done: undefined,
    problem: undefined,
    exchange: undefined,
  };
}

/** An answer as a conversation keeps it. */
export function keptAnswer(id: number, item: Schemas['ExchangeItem']): Answer {
  const { question: text, mode, filter, answer: kept, exchange } = item;
  const answer = newAnswer(id, { text, mode, filter: filter ?? undefined }, [], 0);
  if (!kept) return { ...answer, phase: 'removed', exchange };
  const { context, citations, usage, done } = kept;
  return { ...answer, phase: 'done', text: done.response, context, citations, usage, done, exchange };
}

/** Adds a streamed event; an `error` event ends the answer and keeps the text so far. Unknown events change nothing. */
export function reduceAnswer(answer: Answer, { name, data }: ServerEvent, now: number): Answer {
  const ended = { ...answer.times, ended: now };
  switch (name) {
    case 'context': {
      const context = JSON.parse(data) as Schemas['ContextEvent'];
      return { ...answer, phase: 'writing', context, times: { ...answer.times, found: now } };
    }
    case 'delta':
      return { ...answer, phase: 'writing', text: answer.text + (JSON.parse(data) as Schemas['Delta']).text };
    case 'citation':
      return { ...answer, citations: [...answer.citations, JSON.parse(data) as Schemas['CitationItem']] };
    case 'usage':
      return { ...answer, usage: JSON.parse(data) as Schemas['UsageEvent'] };
    case 'done': {
      const done = JSON.parse(data) as Schemas['Done'];
      const exchange = done.kept?.exchange ?? undefined;
      return { ...answer, phase: 'done', text: done.response, done, exchange, times: ended };
    }
    case 'error': {
      const body = JSON.parse(data) as Schemas['ProblemBody'];
      return { ...answer, phase: 'failed', problem: problemFrom(body.status, body), times: ended };
    }
    default:
      return answer;
  }
}

/** What kind of answer it is, for how it is shown; `undefined` while it is not complete. */
export type AnswerKind = 'answer' | 'closest' | 'overview' | 'not_found' | 'empty' | 'greeting';

export function kindOf(answer: Answer): AnswerKind | undefined {
  if (answer.phase !== 'done') return undefined;
  const kind = answer.done?.answer_kind;
  return kind === 'closest' ||
    kind === 'overview' ||
    kind === 'not_found' ||
    kind === 'empty' ||
    kind === 'greeting'
    ? kind
    : 'answer';
}

/** Numbers in brackets in an answer, and the citations behind them once these are known. */
export interface Mark extends Range {
  numbers: { number: number; citation: Schemas['CitationItem'] | undefined }[];
}

/**
 * The marks of an answer, in order.
 *
 * A complete answer says what its numbers point to. Until then, everything that looks like a mark is one, and points to nothing
 * yet.
 */
export function marksOf(answer: Answer): Mark[] {
  const { text, citations, done } = answer;
  if (!done) {
    return [...text.matchAll(/\[(\d+(?:,\s*\d+)*)\]/g)].map(match => ({
      start: match.index,
      end: match.index + match[0].length,
      numbers: numbersIn(match[1] ?? '').map(number => ({ number, citation: undefined })),
    }));
  }
  const at = charsOf(text);
  return done.marks.map(({ start, end, citations: indexes }) => {
    const range = { start: at(start), end: at(end) };
    const numbers = numbersIn(text.slice(range.start, range.end));
    return {
      ...range,
      numbers: numbers.map((number, index) => {
        const cited = indexes[index];
        return { number, citation: cited === null || cited === undefined ? undefined : citations[cited] };
      }),
    };
  });
}

function numbersIn(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}

/** Converts offsets in UTF-8 bytes, ascending from call to call, into offsets in UTF-16 units. */
export function charsOf(text: string): (byte: number) => number {
  let [chars, bytes] = [0, 0];
  return byte => {
    while (bytes < byte && chars < text.length) {
      const code = text.codePointAt(chars) ?? 0;
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      chars += code < 0x10000 ? 1 : 2;
    }
    return chars;
  };
}

/** The documents that an answer cites, by number, each once. */
export function citedDocuments(answer: Answer): Schemas['CitationItem'][] {
  const first = new Map<number, Schemas['CitationItem']>();
  for (const citation of answer.citations)
    if (!first.has(citation.number)) first.set(citation.number, citation);
  return [...first.values()].sort((one, other) => one.number - other.number);
}

/** Where a citation stands, for people: pages if the document has any, else lines. */
export function placeOf({
  place,
  lines,
  lines_match_source,
}: Pick<Schemas['CitationItem'], 'place' | 'lines' | 'lines_match_source'>): string {
  if (place != null) return place;
  if (!lines_match_source) return '';
  const [first, last] = lines;
  return first === last ? `${first}` : `${first}–${last}`;
}

/** The answer as Markdown with its references, for the clipboard. */
export function withReferences(answer: Answer): string {
  const references = answer.citations.map(citation => {
    const place = placeOf(citation);
    const at = place === '' ? '' : `:${place.replaceAll('–', '-')}`;
    return `[${citation.number}] ${citation.file_path}${at}: “${citation.quote.replace(/\s+/g, ' ')}”`;
  });
  return [answer.text, ...(references.length > 0 ? [[...new Set(references)].join('\n')] : [])].join('\n\n');
}

/** The conversation as the answer model gets it: complete answers only, the oldest first. */
export function historyOf(answers: Answer[], messages = 20): Schemas['HistoryMessage'][] {
  const complete = answers.filter(({ phase, done }) => phase === 'done' && done?.answer_kind !== 'not_found');
  const history = complete.flatMap(({ question, text }) => [
    { role: 'user', content: question.text },
    { role: 'assistant', content: text },
  ]);
  return history.slice(-messages);
}

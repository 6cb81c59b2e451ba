import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client';
import {
  type Answer,
  charsOf,
  citedDocuments,
  historyOf,
  kindOf,
  marksOf,
  newAnswer,
  reduceAnswer,
  withReferences,
} from './answer';

const citation = (number: number, quote: string): Schemas['CitationItem'] => ({
  number,
  quote,
  document: `doc-${number}`,
  file_path: `${number}.md`,
  span: [0, 5],
  lines: [3, 4],
  lines_match_source: true,
});

const done = (response: string, more: Partial<Schemas['Done']> = {}) => ({
  response,
  llm_generated: false,
  answer_kind: 'answer',
  citations: 0,
  response_time: 0.1,
  marks: [],
  ...more,
});

function received(...events: [string, unknown][]): Answer {
  return events.reduce(
    (answer, [name, data]) => reduceAnswer(answer, { name, id: undefined, data: JSON.stringify(data) }, 7),
    newAnswer(1, { text: 'Who?', mode: 'auto', filter: undefined }, [], 3),
  );
}

test('an answer grows with its pieces and ends as a whole', () => {
  const growing = received(['delta', { text: 'Clara ' }], ['delta', { text: 'Voss.' }]);
  expect([growing.text, growing.phase, kindOf(growing)]).toEqual(['Clara Voss.', 'writing', undefined]);
  const complete = received(['delta', { text: 'Clara' }], ['done', done('Clara Voss.')]);
  expect([complete.text, complete.phase, kindOf(complete)]).toEqual(['Clara Voss.', 'done', 'answer']);
  expect(complete.times).toEqual({ asked: 3, found: undefined, ended: 7 });
});

test('an error ends the answer and keeps what has arrived', () => {
  const failed = received(
    ['delta', { text: 'Cla' }],
    [
      'error',
      {
        type: 'about:blank',
        title: 'Bad Gateway',
        status: 502,
        detail: 'the model failed',
        remedy: 'try again',
      },
    ],
  );
  expect(failed).toMatchObject({
    text: 'Cla',
    phase: 'failed',
    problem: { status: 502, message: 'the model failed', remedy: 'try again' },
  });
});

test('numbers point to citations only when the answer is complete', () => {
  const text = 'Élan [1, 2] and [9].';
  const citations: [string, unknown][] = [
    ['citation', citation(1, 'one')],
    ['citation', citation(2, 'two')],
  ];
  const growing = received(['delta', { text }], ...citations);
  expect(marksOf(growing).flatMap(mark => mark.numbers)).toEqual(
    [1, 2, 9].map(number => ({ number, citation: undefined })),
  );
  const marks = [
    { start: 6, end: 12, citations: [0, 1] },
    { start: 17, end: 20, citations: [null] },
  ];
  const complete = received(...citations, ['done', done(text, { marks })]);
  const shown = marksOf(complete).map(({ start, end, numbers }) => [
    text.slice(start, end),
    numbers.map(({ citation }) => citation?.quote),
  ]);
  expect(shown).toEqual([
    ['[1, 2]', ['one', 'two']],
    ['[9]', [undefined]],
  ]);
});

test('bytes become characters of every length', () => {
  const at = charsOf('aé€🎉b');
  expect([0, 1, 3, 6, 10, 11, 99].map(at)).toEqual([0, 1, 2, 3, 5, 6, 6]);
});

test('what is copied names each place once', () => {
  const answer = received(
    ['citation', citation(2, 'a\nb')],
    ['citation', citation(1, 'c')],
    ['citation', citation(1, 'c')],
    ['done', done('Yes. [2][1]')],
  );
  expect(withReferences(answer)).toBe('Yes. [2][1]\n\n[2] 2.md:3-4: “a b”\n[1] 1.md:3-4: “c”');
  expect(citedDocuments(answer).map(({ number }) => number)).toEqual([1, 2]);
});

test('the conversation leaves out what was not answered', () => {
  const answers = [
    received(['done', done('A')]),
    received(['done', done('None.', { answer_kind: 'not_found' })]),
    received(['delta', { text: 'B' }]),
  ];
  expect(historyOf(answers)).toEqual([
    { role: 'user', content: 'Who?' },
    { role: 'assistant', content: 'A' },
  ]);
  expect(historyOf([...answers, ...answers], 2)).toHaveLength(2);
});

import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client';
import { newAnswer } from './answer';
import { type Compared, commonPassages, measuresOf } from './compare';

const citation = (document: string, start: number): Schemas['CitationItem'] => ({
  number: 1,
  document,
  file_path: document,
  span: [start, start + 5],
  lines: [1, 1],
  lines_match_source: true,
  quote: 'quote',
});

function answered(citations: Schemas['CitationItem'][], usage: Partial<Schemas['UsageEvent']>): Compared {
  const answer = newAnswer(1, { text: 'Who?', mode: 'auto', filter: undefined }, [], 1000);
  return {
    ...answer,
    firstWord: 1500,
    citations,
    usage: {
      calls: 1,
      prompt_tokens: 90,
      cached_prompt_tokens: 0,
      completion_tokens: 9,
      cost: null,
      ...usage,
    },
    done: {
      response: '',
      llm_generated: true,
      answer_kind: 'answer',
      citations: 1,
      marks: [],
      response_time: 2.5,
    },
  };
}

test('an answer shows what it took', () => {
  const measures = measuresOf(
    answered([citation('a', 0), citation('a', 0), citation('a', 9)], { cost: 0.02 }),
  );
  expect(measures).toMatchObject({
    seconds: 2.5,
    firstWord: 0.5,
    tokens: { in: 90, out: 9 },
    cost: 0.02,
    cited: 2,
  });
  expect(measuresOf(answered([], {})).cost).toBeNull();
  expect(measuresOf(answered([], { calls: 0 })).cost).toBe(0);
});

test('passages are common if both answers cite the same bytes', () => {
  const one = answered([citation('a', 0), citation('b', 0)], {});
  expect(commonPassages(one, answered([citation('b', 0), citation('b', 0), citation('a', 4)], {}))).toBe(1);
  expect(commonPassages(one, { ...one, done: undefined })).toBeUndefined();
});

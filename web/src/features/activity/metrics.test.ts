import { expect, test } from 'vitest';
import { gaugeOf } from './metrics';

test('a gauge is that of the workspace', () => {
  const text = '# TYPE a gauge\na{workspace="one"} 1\na{workspace="two"} 2\nab{workspace="one"} 3\n# EOF\n';
  expect([gaugeOf(text, 'a', 'two'), gaugeOf(text, 'ab', 'one'), gaugeOf(text, 'a', 'three')]).toEqual([
    2, 3, 0,
  ]);
});

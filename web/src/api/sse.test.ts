import { expect, test } from 'vitest';
import { EventReader } from './sse';

function read(...pieces: string[]) {
  const reader = new EventReader();
  return pieces.flatMap(piece => reader.push(piece)).map(({ name, data }) => `${name}: ${data}`);
}

test('an event may arrive in any pieces', () => {
  const text = ': hello\n\nevent: delta\ndata: {"text":"a"}\n\nevent: done\nid: x-2\ndata: 1\ndata: 2\n\n';
  const expected = ['delta: {"text":"a"}', 'done: 1\n2'];
  expect(read(text)).toEqual(expected);
  expect(read(...text.split(/(?=.)/s))).toEqual(expected);
});

test('line ends of every kind are read, also when one is torn apart', () => {
  expect(read('data: a\r', '\ndata: b\r\n\r\n', 'data:c\r\r', 'data: d\n\n')).toEqual([
    'message: a\nb',
    'message: c',
    'message: d',
  ]);
});

test('an event that does not end is not reported', () => {
  expect(read('data: a\n')).toEqual([]);
});

import { expect, test } from 'vitest';
import { type Command, matching } from './match';

const command = (text: string, words = ''): Command => ({
  id: text,
  text,
  group: 'Pages',
  words,
  run: () => undefined,
});
const all = [
  command('Ask'),
  command('Documents', 'files upload'),
  command('Go to task list'),
  command('Dark theme'),
];
const found = (typed: string) => matching(all, typed).map(({ text }) => text);

test('without words, all commands are there in their order', () => {
  expect(found('  ')).toEqual(['Ask', 'Documents', 'Go to task list', 'Dark theme']);
});

test('what begins with the words comes first', () => {
  expect(found('ask')).toEqual(['Ask', 'Go to task list']);
  expect(found('d')).toEqual(['Documents', 'Dark theme']);
});

test('every word must occur, also among the other words', () => {
  expect(found('upload files')).toEqual(['Documents']);
  expect(found('dark ask')).toEqual([]);
});

import { expect, test } from 'vitest';
import { type Press, actionOf } from './keys';

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isTyping: false,
  ...more,
});

test('Ctrl-K and Cmd-K open the palette, also while typing', () => {
  expect(actionOf(press('k', { ctrlKey: true, isTyping: true }), false, false)).toEqual({ kind: 'palette' });
  expect(actionOf(press('K', { metaKey: true }), false, true)).toEqual({ kind: 'palette' });
});

test('single keys do nothing while typing, with Ctrl, or when they are off', () => {
  expect(actionOf(press('?', { isTyping: true }), false, true)).toBeUndefined();
  expect(actionOf(press('g', { ctrlKey: true }), false, true)).toBeUndefined();
  expect(actionOf(press('?'), false, false)).toBeUndefined();
});

test('G and a letter go to a page', () => {
  expect(actionOf(press('g'), false, true)).toEqual({ kind: 'begin' });
  expect(actionOf(press('d'), true, true)).toEqual({ kind: 'go', key: 'd' });
  expect(actionOf(press('d'), false, true)).toBeUndefined();
});

import { expect, test } from 'vitest';
import { fill } from './text';

test('values are filled in, and unknown placeholders stay', () => {
  expect(fill('{name} has {size}', 'en', { name: 'a.md' })).toBe('a.md has {size}');
  expect(fill('{size} bytes', 'en', { size: 12345 })).toBe('12,345 bytes');
});

test('the plural is that of the language', () => {
  const text = { one: '{count} page', other: '{count} pages' };
  expect([0, 1, 2].map(count => fill(text, 'en', { count }))).toEqual(['0 pages', '1 page', '2 pages']);
  const arabic = { two: 'صفحتان', few: 'صفحات', other: 'صفحة' };
  expect([2, 3, 100].map(count => fill(arabic, 'ar', { count }))).toEqual(['صفحتان', 'صفحات', 'صفحة']);
});

interface File {
  default: Record<string, unknown>;
}

test('every language has the keys of English', () => {
  const files = import.meta.glob<File>('../**/texts/*.json', { eager: true });
  const english = Object.keys(files).filter(name => name.endsWith('/en.json'));
  expect(english.length).toBeGreaterThan(3);
  for (const name of english) {
    const other = files[name.replace('en.json', 'ar.json')]?.default ?? {};
    expect(Object.keys(other).sort(), name).toEqual(Object.keys(files[name]?.default ?? {}).sort());
  }
});

test('every language fills in the same values', () => {
  const files = import.meta.glob<File>('../**/texts/*.json', { eager: true });
  const names = (text: unknown) =>
    new Set([...JSON.stringify(text).matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  for (const [name, file] of Object.entries(files).filter(([name]) => name.endsWith('/en.json'))) {
    const other = files[name.replace('en.json', 'ar.json')]?.default ?? {};
    for (const [key, text] of Object.entries(file.default)) {
      const wanted = names(text);
      wanted.delete('count');
      const used = names(other[key]);
      used.delete('count');
      expect([...used].sort(), `${name} ${key}`).toEqual([...wanted].sort());
    }
  }
});

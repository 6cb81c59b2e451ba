import { expect, test } from 'vitest';
import { addressOf, uiOf } from './address';

test('a page of the default workspace names no workspace', () => {
  const address = addressOf('http://localhost:9621/ui/');
  expect(address).toEqual({
    ui: '/ui',
    api: 'http://localhost:9621/',
    workspace: undefined,
    server: 'http://localhost:9621/',
  });
});

test('workspace and prefix of a proxy are read from the address', () => {
  const address = addressOf('https://example.org/kg/w/lab%20notes/ui/');
  expect(address.ui).toBe('/kg/w/lab%20notes/ui');
  expect(address.api).toBe('https://example.org/kg/w/lab%20notes/');
  expect(address.workspace).toBe('lab notes');
  expect(uiOf(address, 'a/b')).toBe('https://example.org/kg/w/a%2Fb/ui/');
});

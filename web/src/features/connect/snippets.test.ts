import { expect, test } from 'vitest';
import { CLIENTS, type Connection, KEY_PLACEHOLDER, snippetsOf } from './snippets';

const open: Connection = {
  server: 'http://127.0.0.1:9621/',
  api: 'http://127.0.0.1:9621/w/notes/',
  workspace: 'notes',
  key: undefined,
};
const closed: Connection = { ...open, key: KEY_PLACEHOLDER };
const codes = (connection: Connection) =>
  CLIENTS.flatMap(client => snippetsOf(client, connection).map(({ code }) => code)).join('\n');

test('JSON snippets are those of the guide', () => {
  const parsed = (client: 'cursor' | 'claude-desktop', connection: Connection): unknown =>
    JSON.parse(snippetsOf(client, connection).find(({ kind }) => kind === 'json')?.code ?? '');
  const url = 'http://127.0.0.1:9621/w/notes/mcp';
  expect(parsed('cursor', open)).toEqual({ mcpServers: { graphloom: { type: 'http', url } } });
  expect(parsed('cursor', closed)).toEqual({
    mcpServers: { graphloom: { type: 'http', url, headers: { Authorization: 'Bearer YOUR_KEY' } } },
  });
  expect(parsed('claude-desktop', closed)).toEqual({
    mcpServers: {
      graphloom: {
        command: 'graphloom',
        args: ['mcp', '--read-only', '--data-dir', '/path/to/.graphloom', '--workspace', 'notes'],
      },
    },
  });
});

test('a key is asked for only by a server that has keys', () => {
  expect(codes(open)).not.toContain(KEY_PLACEHOLDER);
  for (const client of CLIENTS.filter(client => client !== 'claude-desktop')) {
    const code = snippetsOf(client, closed)
      .map(({ code }) => code)
      .join('\n');
    expect(code, client).toContain(KEY_PLACEHOLDER);
  }
});

test('every program gets the address of the workspace', () => {
  for (const client of CLIENTS) {
    const code = snippetsOf(client, open)
      .map(({ code }) => code)
      .join('\n');
    expect(code, client).toMatch(/\/w\/notes\/|notes:auto|"notes"/);
  }
});

test('texts for a shell survive quotes', () => {
  const odd = { ...open, api: "http://host/it's/" };
  expect(snippetsOf('curl', odd)[0]?.code).toContain(`'http://host/it'\\''s/query'`);
});

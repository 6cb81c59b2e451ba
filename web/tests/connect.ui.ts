import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { addSamples, seriousFaults, site } from './support';

const { server, open } = site();
const folder = mkdtempSync(join(tmpdir(), 'graphloom-connect-'));
afterAll(() => rmSync(folder, { recursive: true }));

let key = '';

/** Adds the samples and a key, before the first test that needs them. */
async function prepare(): Promise<void> {
  if (key !== '') return;
  await addSamples(server);
  key = server.run('key', 'create', 'agent', '--right', 'write').trim();
}

/** The texts to copy for a program, with a real key, as the copy buttons give them. */
async function copied(page: Page, client: string): Promise<string[]> {
  await page.getByRole('navigation', { name: 'Programs' }).getByRole('link', { name: client }).click();
  await page.getByRole('heading', { name: client, level: 2 }).waitFor();
  const texts: string[] = [];
  for (const button of await page.getByRole('button', { name: /^Copy: / }).all()) {
    await button.click();
    texts.push((await page.evaluate(() => navigator.clipboard.readText())).replaceAll('YOUR_KEY', key));
  }
  // The first one creates the key.
  return texts.filter(text => !text.startsWith('graphloom key create'));
}

async function connect(options: BrowserContextOptions = {}): Promise<Page> {
  await prepare();
  const page = await open('/settings/connect', options);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Programs' }).waitFor();
  return page;
}

function run(program: string, args: string[]): string {
  return execFileSync(program, args, { cwd: folder, encoding: 'utf8' });
}

test('the commands for curl ask a question and add a document', async () => {
  const [ask = '', add = ''] = await copied(await connect(), 'curl');
  const answer = JSON.parse(run('sh', ['-c', ask])) as { response: string };
  expect(answer.response).not.toBe('');
  writeFileSync(join(folder, 'notes.md'), 'Ines Halloran keeps the keys of the harbour station.');
  expect(JSON.parse(run('sh', ['-c', add]))).toMatchObject({ status: 'success' });
});

test('the program for Python prints an answer and its citations', async () => {
  const [program = ''] = await copied(await connect(), 'Python');
  const about = program.replace(
    'What are these documents about?',
    'Who was the first customer of Braidline?',
  );
  const printed = run('python3', ['-c', about]);
  expect(printed).toContain('Kellmere Water Board');
  expect(printed).toContain('braidline-product-sheet.md');
});

test('LangChain and Open WebUI get an address, a key and a model that answer', async () => {
  const page = await connect();
  const [, program = ''] = await copied(page, 'LangChain');
  run('python3', ['-c', `import ast, sys; ast.parse(${JSON.stringify(program)})`]);
  const value = (name: string) => new RegExp(`${name}="([^"]+)"`).exec(program)?.[1] ?? '';
  const values = await copied(page, 'Open WebUI');
  expect(values).toEqual([value('base_url'), value('api_key'), value('model')]);
  const [url = '', secret = '', model = ''] = values;
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: 'Who was the first customer of Braidline?' }],
    }),
  });
  expect(await response.text()).toContain('Kellmere Water Board');
});

interface Remote {
  mcpServers: { graphloom: { type: string; url: string; headers: Record<string, string> } };
}

test('the entries for Claude Code and Cursor reach the tools, and the command names the same address', async () => {
  const page = await connect();
  const [command = '', file = ''] = await copied(page, 'Claude Code');
  const [cursor = ''] = await copied(page, 'Cursor');
  expect(cursor).toBe(file);
  const { url, headers } = (JSON.parse(file) as Remote).mcpServers.graphloom;
  const words = run('sh', ['-c', command.replace(/^claude/, 'printf "%s\\n"')]).split('\n');
  expect(words).toContain(url);
  expect(words).toContain(`Authorization: ${headers.Authorization ?? ''}`);
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  expect(await response.text()).toContain('get_source');
});

test('the entry for Claude Desktop starts a server that the guide describes', async () => {
  const [file = ''] = await copied(await connect(), 'Claude Desktop');
  const guide = readFileSync(join(import.meta.dirname, '../../docs/how-to/use-from-an-agent.md'), 'utf8');
  const { command, args } = (
    JSON.parse(file) as { mcpServers: { graphloom: { command: string; args: string[] } } }
  ).mcpServers.graphloom;
  const written = /"args": (\[.*\])/.exec(guide)?.[1] ?? '[]';
  const given = args.slice(0, -2).map(arg => (arg.startsWith('/') ? 'DATA' : arg));
  expect(given).toEqual((JSON.parse(written) as string[]).map(arg => (arg.startsWith('/') ? 'DATA' : arg)));
  expect([command, ...args.slice(-2)]).toEqual(['graphloom', '--workspace', 'default']);
});

test('the page has no serious accessibility faults', async () => {
  const page = await connect({ reducedMotion: 'reduce' });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFaults(page), colorScheme).toEqual([]);
  }
});

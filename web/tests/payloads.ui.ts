import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { pdfOf } from './files';
import { PAYLOADS } from './payloads';
import { addFile, indexed, site } from './support';

const { open, server } = site();

const SENTENCES = PAYLOADS.map((payload, at) => `Marker ${at} was cut by Oriel Tamsen: ${payload}.`);
/** One file of each kind, with all payloads in it. */
const FILES: [string, string | Buffer][] = [
  ['payloads.md', `# ${PAYLOADS[8]}\n\n${SENTENCES.join('\n\n')}`],
  ['payloads.txt', SENTENCES.join('\n\n')],
  ['payloads.html', `<title>${PAYLOADS[8]}</title>${SENTENCES.map(text => `<p>${text}</p>`).join('\n')}`],
  [
    'payloads.csv',
    `name,note\n${SENTENCES.map((text, at) => `Marker ${at},"${text.replaceAll('"', '""')}"`).join('\n')}`,
  ],
  ['payloads.jsonl', SENTENCES.map(text => JSON.stringify({ [PAYLOADS[8] ?? '']: text })).join('\n')],
  [
    'payloads.xml',
    `<doc xmlns="http://www.w3.org/1999/xhtml" onload="pwned()">${SENTENCES.map(text => `<text><![CDATA[${text.replaceAll(']]>', ']]')}]]></text>`).join('')}</doc>`,
  ],
  ['payloads.js', SENTENCES.map(text => `// ${text}`).join('\n')],
  [
    'payloads.pdf',
    pdfOf(pagesOf(SENTENCES), '', `/Title (${(PAYLOADS[8] ?? '').replace(/[()\\]/g, '\\$&')})`),
  ],
];

function pagesOf(lines: string[]): string[][] {
  // The file has no letters beyond Latin ones.
  const plain = lines.map(line => line.replace(/[^\x20-\x7e]/g, '?'));
  return Array.from({ length: Math.ceil(plain.length / 30) }, (_, page) =>
    plain.slice(page * 30, page * 30 + 30),
  );
}

/** What ran, of all pages of this file. */
const executions: string[] = [];

async function watched(path: string): Promise<Page> {
  const page = await open('/nothing');
  await page.exposeFunction('pwned', () => void executions.push(`${page.url()} called`));
  page.on('dialog', dialog => {
    executions.push(`${page.url()} ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', popup => void executions.push(`${page.url()} opened ${popup.url()}`));
  await page.goto(`${server.url}/ui${path}`);
  return page;
}

/** Elements and attributes that only a payload makes. */
async function traces(page: Page): Promise<string[]> {
  return await page.evaluate(() =>
    [...document.body.querySelectorAll('*')].flatMap(element => {
      const isForeign = [
        'IFRAME',
        'OBJECT',
        'EMBED',
        'MARQUEE',
        'BASE',
        'META',
        'STYLE',
        'VIDEO',
        'AUDIO',
        'IMG',
      ];
      const attributes = [...element.attributes].filter(
        ({ name, value }) =>
          name.startsWith('on') ||
          /^\s*(javascript|vbscript|data:text)/i.test(value) ||
          // A link that a person sees and follows is allowed.
          (['href', 'src', 'action'].includes(name) &&
            element.tagName !== 'A' &&
            new URL(value, document.baseURI).hostname === 'evil.example'),
      );
      return [
        ...(isForeign.includes(element.tagName) ? [element.tagName] : []),
        ...attributes.map(({ name, value }) => `${element.tagName} ${name}=${value}`),
      ];
    }),
  );
}

async function post(route: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(server.url + route, { method: 'POST', headers, body: JSON.stringify(body) })).status;
}

const names: string[] = [];

beforeAll(async () => {
  for (const [name, content] of FILES) await addFile(server, name, content);
  for (const [at, payload] of PAYLOADS.entries()) {
    // A name of a file has no slashes.
    const file_source = `${payload.replaceAll('/', '\u2215')} ${at}.md`;
    await post('/documents/text', { text: `Name ${at} was cut by Oriel Tamsen.`, file_source });
    const entity_data = { description: `Cut by ${payload}`, entity_type: payload.slice(0, 60) };
    const entity_name = `${payload} ${at}`;
    if ((await post('/graph/entity/create', { entity_name, entity_data })) !== 200) continue;
    names.push(entity_name);
    const relation_data = { description: `It was cut by ${payload}`, keywords: payload };
    await post('/graph/relation/create', {
      source_entity: entity_name,
      target_entity: names[0],
      relation_data,
    });
  }
  await indexed(server);
}, 120_000);

async function settled(page: Page) {
  await page.waitForTimeout(150);
  expect(await traces(page)).toEqual([]);
}

test('payloads in names, texts and files of every kind run nowhere', async () => {
  const page = await watched('/documents');
  await page.getByRole('rowgroup').getByRole('link').first().waitFor();
  await settled(page);
  for (const [name] of FILES) {
    await page.goto(`${server.url}/ui/documents`);
    await page.getByRole('searchbox').fill(name);
    await page.getByRole('link', { name, exact: true }).click();
    await expect.poll(() => page.locator('section').first().innerText()).toContain('Oriel Tamsen');
    await settled(page);
    if (name.endsWith('.pdf')) await page.getByRole('button', { name: 'Text', exact: true }).click();
    await settled(page);
  }
  expect(executions).toEqual([]);
}, 120_000);

test('payloads in answers, questions, titles and passages run nowhere', async () => {
  const page = await watched('/');
  for (const at of [0, 8, 12, 20, 41, 46]) {
    await page.getByRole('textbox', { name: 'Question' }).fill(`Who cut Marker ${at}? ${PAYLOADS[at] ?? ''}`);
    await page.keyboard.press('Enter');
    const answer = page.getByRole('article').last();
    await answer.getByRole('button', { name: 'Ask again' }).waitFor();
    await settled(page);
    const chip = answer.locator('button[aria-pressed]').first();
    if ((await chip.count()) > 0) {
      await chip.hover();
      await chip.click();
      await page.getByRole('complementary').locator('mark').first().waitFor();
      await settled(page);
    }
    await answer.getByRole('button', { name: 'Why this answer' }).click();
    await page.getByRole('complementary').getByRole('heading').first().waitFor();
    await settled(page);
  }
  await page.getByRole('button', { name: 'History' }).click();
  await page.getByRole('region', { name: 'History' }).getByRole('link').first().waitFor();
  await settled(page);
  expect(executions).toEqual([]);
}, 120_000);

test('payloads in names, types, descriptions and keywords of the graph run nowhere', async () => {
  const page = await watched('/graph');
  expect(names.length).toBeGreaterThan(PAYLOADS.length / 2);
  await page.getByRole('combobox').waitFor();
  await settled(page);
  for (const [at, name] of names.entries()) {
    const view = at % 2 === 0 ? '&view=table' : '';
    await page.goto(`${server.url}/ui/graph?entity=${encodeURIComponent(name)}${view}`);
    await page.getByRole('complementary').getByRole('heading').first().waitFor();
    await settled(page);
  }
  await page.goto(`${server.url}/ui/graph?edits`);
  await page.getByRole('complementary').getByRole('listitem').first().waitFor();
  await settled(page);
  expect(executions).toEqual([]);
}, 180_000);

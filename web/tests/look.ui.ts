import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { pdfOf } from './files';
import { differenceFromLook } from './looks';
import { addFile, addSamples, indexed, seriousFaults, site } from './support';

const { open, server } = site();
const empty = site();
// Estimates ask no model, so none needs to be there.
const paid = site(undefined, {
  GRAPHLOOM_LLM: 'openai:gpt-4o-mini',
  OPENAI_API_KEY: 'none',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
});
const names = {
  history: /^(History|السجل)$/,
  drop: /Drop files or folders|أفلت ملفات/,
  claims: /dated claim|مؤرخ/,
};
/** The screens of which a picture is kept. */
const KEPT = new Set(['first run', 'ask', 'source', 'why', 'documents', 'document', 'path', 'communities']);
/** The share of a small picture that may differ: other times and numbers, other fonts. */
const ALLOWED = 0.01;
/** Where pictures of all screens go, if anywhere. */
const PICTURES = process.env.PICTURES;

beforeAll(async () => {
  await addSamples(server);
  await addFile(
    server,
    'harbour.pdf',
    pdfOf([
      ['Survey of the harbour of Kessary'],
      ['The northern pier of Kessary was built by Anselm Voortrek in', '1887, out of larch and basalt.'],
    ]),
  );
  await indexed(server);
  server.run('derive', 'communities');
  server.run('derive', 'tree');
});

async function answered(page: Page) {
  await page.getByRole('textbox').fill('Who was the first customer of Braidline?');
  await page.keyboard.press('Enter');
  await page.locator('article button[aria-pressed]').first().waitFor();
}

/** Every screen, and what to do to see it whole. */
const SCREENS: [string, (options: BrowserContextOptions) => Promise<Page>][] = [
  [
    'first run',
    async options =>
      await loaded(empty.open('/', options), page => page.getByRole('heading', { level: 1 }).waitFor()),
  ],
  [
    'ask',
    async options =>
      await loaded(open('/', options), page => page.getByRole('heading', { level: 1 }).waitFor()),
  ],
  [
    'source',
    async options =>
      await loaded(open('/', options), async page => {
        await answered(page);
        await page.locator('article button[aria-pressed]').first().click();
        await page.locator('mark').first().waitFor();
      }),
  ],
  [
    'why',
    async options =>
      await loaded(open('/', options), async page => {
        await answered(page);
        await page
          .locator('article')
          .getByRole('button')
          .filter({ has: page.locator('circle') })
          .click();
        await page.locator('meter').first().waitFor();
      }),
  ],
  [
    'documents',
    async options =>
      await loaded(open('/documents', options), page =>
        page.getByRole('link', { name: 'staff.csv' }).waitFor(),
      ),
  ],
  [
    'document',
    async options =>
      await loaded(open('/documents', options), async page => {
        await page.getByRole('link', { name: 'staff.csv' }).click();
        await page.getByRole('table').waitFor();
      }),
  ],
  [
    'pages of a file',
    async options =>
      await loaded(open('/', options), async page => {
        await page.getByRole('textbox').fill('Who built the northern pier of Kessary?');
        await page.keyboard.press('Enter');
        await page.locator('article button[aria-pressed]').first().click();
        await page.locator('mark').first().waitFor();
      }),
  ],
  [
    'history',
    async options =>
      await loaded(open('/', options), async page => {
        await answered(page);
        await page.getByRole('button', { name: names.history }).click();
        await page.getByRole('region', { name: names.history }).getByRole('link').first().waitFor();
      }),
  ],
  [
    'compare',
    async options =>
      await loaded(open('/compare', options), async page => {
        await page.getByRole('textbox').fill('Who was the first customer of Braidline?');
        await page.keyboard.press('Enter');
        await expect.poll(() => page.locator('article button[aria-pressed]').count()).toBeGreaterThan(1);
      }),
  ],
  [
    'batch',
    async options =>
      await loaded(paid.open('/documents', options), async page => {
        const files = Array.from({ length: 10 }, (_, number) => ({
          name: `note-${number}.md`,
          mimeType: 'text/markdown',
          buffer: Buffer.from(`Ines Varga designed tower ${number}. `.repeat(40)),
        }));
        const [chooser] = await Promise.all([
          page.waitForEvent('filechooser'),
          page.getByRole('button', { name: names.drop }).click(),
        ]);
        await chooser.setFiles(files);
        const dialog = page.getByRole('dialog');
        await dialog.waitFor();
        await expect.poll(() => dialog.getByRole('progressbar').count()).toBe(0);
      }),
  ],
  [
    'path',
    async options =>
      await loaded(open('/graph?entity=Hearthmoth&to=Kellmere+Water+Board', options), page =>
        page.getByRole('button', { name: /founding-charter/ }).waitFor(),
      ),
  ],
  [
    'entity with claims',
    async options =>
      // On a phone, an entity is open only where the address says so.
      await loaded(open('/graph?entity=Maren+Oskoldt&open=Maren+Oskoldt', options), async page => {
        const claims = page.getByRole('complementary').locator('section').filter({ hasText: names.claims });
        await claims.getByRole('button', { name: /newsletter-winter-2018/ }).waitFor();
        await claims.scrollIntoViewIfNeeded();
      }),
  ],
  [
    'communities',
    async options =>
      await loaded(open('/graph/communities', options), page => page.locator('main li a').first().waitFor()),
  ],
  [
    'tree',
    async options =>
      await loaded(open('/graph/tree', options), page => page.locator('main li a').first().waitFor()),
  ],
  [
    'node of the tree',
    async options =>
      await loaded(open('/graph/tree', options), async page => {
        await page.locator('main li a').first().click();
        await page.getByRole('complementary').getByRole('button').nth(1).waitFor();
      }),
  ],
  [
    'unknown page',
    async options =>
      await loaded(open('/nothing', options), page => page.getByRole('heading').first().waitFor()),
  ],
];

async function loaded(opening: Promise<Page>, ready: (page: Page) => Promise<void>): Promise<Page> {
  const page = await opening;
  await ready(page);
  return page;
}

for (const [screen, show] of SCREENS) {
  test.runIf(PICTURES !== undefined)(`${screen} as a picture`, async () => {
    mkdirSync(PICTURES ?? '', { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [360, 768, 1280]) {
        const page = await show({ viewport: { width, height: 800 }, colorScheme });
        // Transitions end.
        await page.waitForTimeout(300);
        await page.screenshot({
          path: join(PICTURES ?? '', `${screen.replaceAll(' ', '-')}-${colorScheme}-${width}.png`),
        });
        await page.context().close();
      }
    }
  });
  test.runIf(KEPT.has(screen))(`${screen} looks as it did, in both themes and on a phone`, async () => {
    for (const [form, width, colorScheme] of [
      ['light', 1280, 'light'],
      ['dark', 1280, 'dark'],
      ['phone', 360, 'light'],
    ] as const) {
      const page = await show({ viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' });
      await page.mouse.move(width / 2, 799);
      // What comes a moment later is part of the picture.
      await expect
        .poll(async () => await differenceFromLook(page, `${screen.replaceAll(' ', '-')}-${form}`))
        .toBeLessThan(ALLOWED);
      await page.context().close();
    }
  });
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`${screen} has no serious fault of accessibility in the ${colorScheme} theme`, async () => {
      expect(await seriousFaults(await show({ colorScheme }))).toEqual([]);
    });
  }
  test(`${screen} fits on a phone, in English and in Arabic`, async () => {
    for (const locale of ['en-US', 'ar']) {
      const page = await show({ viewport: { width: 360, height: 740 }, locale });
      expect(await page.evaluate(() => document.documentElement.scrollWidth), locale).toBe(360);
      expect(await page.evaluate(() => document.documentElement.dir)).toBe(locale === 'ar' ? 'rtl' : 'ltr');
    }
  });
}

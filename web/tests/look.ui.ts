import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { addSamples, seriousFaults, site } from './support';

const { open, server } = site();
const empty = site();

beforeAll(async () => {
  await addSamples(server);
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

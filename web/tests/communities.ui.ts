import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { addSamples, seriousFaults, site } from './support';

const { server, open } = site();
let isReady = false;

/** Opens the communities of the samples. */
async function communities(options: Parameters<typeof open>[1] = {}): Promise<Page> {
  if (!isReady) {
    await addSamples(server);
    server.run('derive', 'communities');
  }
  isReady = true;
  const page = await open('/graph', options);
  await page.getByRole('link', { name: 'Communities' }).click();
  await page.getByRole('heading', { name: 'Communities', level: 1 }).waitFor();
  return page;
}

test('without communities, the page says how to derive them', async () => {
  const page = await open('/graph/communities');
  await page.getByRole('heading', { name: 'No communities yet' }).waitFor();
  await page.getByText('graphloom derive communities').waitFor();
});

test('a finding of a report opens its sentence in the document', async () => {
  const page = await communities();
  await page
    .getByRole('link', { name: /rated .* of 10/ })
    .first()
    .click();
  const pane = page.getByRole('complementary');
  const quote = pane.getByRole('button', { name: /· Line \d+$/ }).first();
  const text = await quote.locator('span').first().innerText();
  await quote.click();
  // A row of a table is marked cell by cell.
  const mark = pane.locator('mark').first();
  await expect.poll(async () => text.includes(await mark.innerText())).toBe(true);
  await pane.getByRole('button', { name: 'Back' }).click();
  await quote.waitFor();
});

test('levels and parts lead down, and a member leads to the graph around it', async () => {
  const page = await communities();
  await page
    .getByRole('link', { name: /rated .* of 10/ })
    .first()
    .click();
  const pane = page.getByRole('complementary');
  await pane.getByRole('heading', { name: /^Divided into \d+ communit/ }).waitFor();
  const part = pane.getByRole('listitem').getByRole('link').first();
  const title = await part.innerText();
  await part.click();
  await pane.getByRole('heading', { name: title, level: 2 }).waitFor();
  await pane.getByRole('link', { name: /^Part of: / }).waitFor();
  await expect
    .poll(() => page.getByRole('navigation', { name: 'Levels' }).locator('[aria-current]').innerText())
    .toMatch(/^Level 1/);
  const member = pane.getByRole('listitem').getByRole('link').last();
  const name = await member.innerText();
  await member.click();
  await expect.poll(() => new URL(page.url()).searchParams.get('entity')).toBe(name);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds no serious fault on the ${colorScheme} communities`, async () => {
    const page = await communities({ colorScheme });
    expect(await seriousFaults(page)).toEqual([]);
    await page
      .getByRole('link', { name: /rated .* of 10/ })
      .first()
      .click();
    await page.getByRole('heading', { level: 4 }).first().waitFor();
    expect(await seriousFaults(page)).toEqual([]);
  });
}

test('communities fit on a phone, in English and in Arabic', async () => {
  await communities();
  for (const locale of ['en-US', 'ar']) {
    const page = await open('/graph/communities', { viewport: { width: 360, height: 740 }, locale });
    const width = () => page.evaluate(() => document.documentElement.scrollWidth);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await width(), locale).toBe(360);
    await page.locator('li a[href*="level="]').first().click();
    await page.getByRole('heading', { level: 4 }).first().waitFor();
    expect(await width(), locale).toBe(360);
  }
});

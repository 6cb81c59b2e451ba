import { beforeAll, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { addFile, addSamples, indexed, site } from './support';

const { open, server } = site();

beforeAll(async () => {
  await addSamples(server);
});

async function ask(page: Page, question: string) {
  await page.getByRole('textbox', { name: 'Question' }).fill(question);
  await page.keyboard.press('Enter');
  const answer = page.getByRole('article').last();
  await answer.getByRole('button', { name: 'Ask again' }).waitFor();
  return answer;
}

const marked = (page: Page) => page.getByRole('complementary').locator('mark').allInnerTexts();

test('a citation shows its passage on hover and opens it in Markdown, text and tables', async () => {
  const page = await open('/');
  const answer = await ask(page, 'Who was the first customer of Braidline?');
  const chip = answer.locator('button[aria-pressed]').first();
  await chip.hover();
  await page
    .getByRole('dialog')
    .or(page.locator('[data-radix-popper-content-wrapper]'))
    .getByText('Kellmere Water Board was the first')
    .waitFor();
  await chip.click();
  await expect
    .poll(() => marked(page))
    .toEqual([expect.stringMatching(/^The Kellmere Water Board .* built\.$/)]);
  expect(await chip.getAttribute('aria-pressed')).toBe('true');
  await page.keyboard.press('Escape');
  expect(await page.getByRole('complementary').count()).toBe(0);

  const csv = await ask(page, 'Who was head of methods at Larkfen Laboratory?');
  await csv
    .getByRole('list', { name: 'Sources' })
    .getByRole('button', { name: /staff\.csv/ })
    .click();
  await page.getByRole('complementary').getByRole('columnheader', { name: 'organisation' }).waitFor();
  await expect.poll(async () => (await marked(page)).join(' ')).toContain('Adaeze Brankovar');
});

test('why an answer came about opens the passages that were found', async () => {
  const page = await open('/');
  const answer = await ask(page, 'Who built the instrument that the Hearthmoth grew out of?');
  await answer.getByRole('button', { name: 'Why this answer' }).click();
  const pane = page.getByRole('complementary');
  await pane.getByRole('heading', { name: /^\d+ passages$/ }).waitFor();
  await pane.getByText('LLM calls').waitFor();
  await pane.getByRole('listitem').getByRole('button').first().click();
  await expect.poll(() => marked(page)).not.toEqual([]);
  await pane.getByRole('button', { name: 'Back' }).click();
  await pane.getByRole('heading', { name: 'Why this answer' }).waitFor();
  await pane.getByRole('button', { name: 'Show the exact prompt' }).click();
  await expect.poll(() => pane.locator('pre').innerText()).toContain('Hearthmoth');
});

test('what is not in the documents is said, and so is a weak match', async () => {
  const page = await open('/');
  await (
    await ask(page, 'What is the price of bananas in Peru?')
  )
    .getByRole('heading', { name: 'Not in your documents' })
    .waitFor();
  const weak = await ask(page, 'Which city was Yusra Hallamby born in?');
  await weak.getByText('Weak match').waitFor();
  await weak.getByText('No LLM').waitFor();
});

test('a filter limits the documents of a question', async () => {
  const page = await open('/');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByLabel('File names').fill('*.csv');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: '1 condition' }).waitFor();
  const answer = await ask(page, 'Who was the first customer of Braidline?');
  expect(await answer.getByRole('list', { name: 'Sources' }).getByText('.md').count()).toBe(0);
});

test('an answer is copied with its references', async () => {
  const page = await open('/');
  const answer = await ask(page, 'Who was the first customer of Braidline?');
  await answer.getByRole('button', { name: 'Copy with references' }).click();
  await page.getByText('Copied with references.').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain('[1] braidline-product-sheet.md:35: “The Kellmere Water Board');
});

test('a lost connection is said, and the question can be asked again when the server is back', async () => {
  const page = await open('/');
  await ask(page, 'Who was the first customer of Braidline?');
  await server.stop();
  const failed = await ask(page, 'Who is Ilse Wrenfield?');
  await failed.getByRole('alert').waitFor();
  await server.start();
  await failed.getByRole('button', { name: 'Ask again' }).click();
  await expect
    .poll(() => page.getByRole('article').last().innerText(), { timeout: 20_000 })
    .toContain('Wrenfield');
  expect(await page.getByRole('article').count()).toBe(2);
});

test('nothing in a document runs or loads anything', async () => {
  const attack = [
    '# <img src=x onerror="document.title=1"> [x](javascript:alert(1))',
    '',
    'The Quendrel engine was built by <script>document.title=2</script> Oriel Tamsen. ![](https://evil.example/a.png) <svg onload=document.title=3>',
    '',
    '<iframe src="https://evil.example"></iframe> [link](data:text/html,<script>1</script>)',
  ].join('\n');
  await addFile(server, '"><img src=x onerror=document.title=4>.md', attack);
  await indexed(server);
  const page = await open('/');
  const answer = await ask(page, 'Who built the Quendrel engine?');
  await answer.locator('button[aria-pressed]').first().click();
  await expect.poll(() => page.getByRole('complementary').innerText()).toContain('<svg onload');
  expect(await page.title()).toBe('Ask · Graphloom');
  expect(
    await page
      .locator('main img, main iframe, main script, main a[href^="javascript"], main a[href^="data"]')
      .count(),
  ).toBe(0);
});

test('in a low window, every way to search can be scrolled to', async () => {
  const page = await open('/', { viewport: { width: 1280, height: 600 } });
  await page.getByRole('button', { name: 'Automatic' }).click();
  const ways = page.getByRole('menuitemradio');
  await ways.first().waitFor();
  for (const way of await ways.all()) {
    await way.scrollIntoViewIfNeeded();
    const box = await way.boundingBox();
    expect(box?.y).toBeGreaterThanOrEqual(0);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(600);
  }
});

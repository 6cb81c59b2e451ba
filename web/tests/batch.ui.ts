import { expect, test } from 'vitest';
import { seriousFaults, site } from './support';

// Estimates ask no model, so none needs to be there.
const { open } = site(undefined, {
  GRAPHLOOM_LLM: 'openai:gpt-4o-mini',
  OPENAI_API_KEY: 'none',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
});

test('a large batch shows what it would cost, and a budget takes the files that fit', async () => {
  const page = await open('/documents');
  const files = Array.from({ length: 10 }, (_, number) => ({
    name: `note-${number}.md`,
    mimeType: 'text/markdown',
    buffer: Buffer.from(`Ines Varga designed tower ${number}. `.repeat(40)),
  }));
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: /Drop files or folders/ }).click(),
  ]);
  await chooser.setFiles(files);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add 10 files' }).waitFor();
  await expect.poll(() => dialog.getByRole('progressbar').count()).toBe(0);
  expect(await dialog.innerText()).toMatch(/Tokens\s+[\d,]+ to [\d,]+/);
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByLabel('Budget').fill('1');
  await dialog.getByText(/^0 of 10 files fit/).waitFor();
  expect(await dialog.getByRole('button', { name: 'Add 0 files' }).isDisabled()).toBe(true);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.getByRole('dialog').count()).toBe(0);
});

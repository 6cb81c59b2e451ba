import { expect, test } from 'vitest';
import { addSamples, seriousFaults, site } from './support';

const { server, open } = site();

test('a tree is derived from the page, and its summaries lead down to the documents', async () => {
  await addSamples(server);
  const page = await open('/graph/tree');
  await page.getByRole('heading', { name: 'No tree yet' }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole('button', { name: 'Derive' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Model calls').waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Derive' }).click();
  await page.getByRole('heading', { name: 'Tree of summaries' }).waitFor({ timeout: 40_000 });

  const levels = page.getByRole('navigation', { name: 'Levels' });
  await expect.poll(() => levels.locator('[aria-current]').innerText()).toMatch(/, the top/);
  await levels.getByRole('link').last().click();
  await page
    .getByRole('link', { name: /over \d+ passages?/ })
    .first()
    .click();
  const pane = page.getByRole('complementary');
  await pane.getByRole('heading', { name: /^\d+ passages? below$/ }).waitFor();
  await pane
    .getByRole('link', { name: /^Part of: / })
    .first()
    .waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await pane
    .getByRole('button', { name: /· Line \d+$/ })
    .last()
    .click();
  await pane.locator('mark').first().waitFor();
  await pane.getByRole('button', { name: 'Back' }).click();
  await pane
    .getByRole('link', { name: /^Part of: / })
    .first()
    .click();
  await pane.getByRole('heading', { name: /^\d+ nodes? below$/ }).waitFor();

  await page.getByRole('link', { name: 'Graph' }).last().click();
  await page.getByRole('link', { name: 'Tree of summaries' }).waitFor();
});

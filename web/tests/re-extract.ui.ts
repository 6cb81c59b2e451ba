import { expect, test } from 'vitest';
import { addFile, indexed, seriousFaults, site } from './support';

const { server, open } = site();

test('documents that are by the workspace\u2019s model already say so', async () => {
  await addFile(server, 'note.md', 'Ines Varga designed the tower of Kessary.');
  await indexed(server);
  const page = await open('/documents');
  await page.getByRole('checkbox', { name: 'Select note.md' }).check();
  await page.getByRole('button', { name: 'Re-extract' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^Nothing to do/).waitFor();
  expect(await dialog.getByRole('button', { name: 'Re-extract' }).isDisabled()).toBe(true);
  expect(await seriousFaults(page)).toEqual([]);
});

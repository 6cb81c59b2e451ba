import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { addSamples, seriousFaults, site } from './support';

const { server, open } = site();
let isReady = false;

/** Opens the page of the graph with the samples indexed. */
async function graph(query = '', options: Parameters<typeof open>[1] = {}): Promise<Page> {
  if (!isReady) await addSamples(server);
  isReady = true;
  return await open(`/graph${query}`, options);
}

/** Edits the graph as another client would. */
async function edit(route: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(server.url + route, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status, route).toBe(200);
}

const TOBIAS = '?entity=Tobias+Quillhaven&view=table';

test('an empty graph says so and leads to the documents', async () => {
  const page = await open('/graph');
  await page.getByRole('heading', { name: 'The graph is empty' }).waitFor();
  await page.getByRole('link', { name: 'Add documents' }).click();
  await expect.poll(() => page.url()).toMatch(/\/ui\/documents$/);
});

test('a search by keyboard opens an entity, whose evidence opens in its document', async () => {
  const page = await graph();
  await page.getByRole('combobox', { name: 'Search for an entity' }).fill('quillhaven');
  await page.getByRole('option', { name: 'Tobias Quillhaven' }).waitFor();
  await page.keyboard.press('Enter');
  const pane = page.getByRole('complementary');
  await pane.getByRole('heading', { name: 'Tobias Quillhaven' }).waitFor();
  await page.getByRole('img', { name: /Graph of \d+ entities/ }).waitFor();
  await pane
    .getByRole('button', { name: /Tobias Quillhaven.*founding-charter\.md/s })
    .first()
    .click();
  await expect
    .poll(() => pane.locator('mark').allInnerTexts())
    .toEqual([expect.stringContaining('Quillhaven')]);
  expect(page.url()).toContain('entity=Tobias+Quillhaven');
  await pane.getByRole('link', { name: 'Open document' }).click();
  await expect.poll(() => page.url()).toMatch(/\/ui\/documents\/doc-/);
});

test('the page always says how much of the graph it shows, and grows by the budget', async () => {
  const page = await graph(`${TOBIAS}&most=50`);
  // An entity with a single relation is not among the first fifty.
  await edit('/graph/entity/create', { entity_name: 'Otto Wehr', entity_data: { description: 'A keeper.' } });
  const relation_data = { description: 'Otto Wehr works there.', keywords: 'work' };
  await edit('/graph/relation/create', {
    source_entity: 'Kellmere',
    target_entity: 'Otto Wehr',
    relation_data,
  });
  const status = page.getByRole('status').filter({ hasText: 'entities' });
  await expect.poll(() => status.innerText()).toMatch(/Showing 50 of \d+ entities/);
  await page.getByRole('button', { name: 'Expand: Kellmere', exact: true }).click();
  await expect.poll(() => status.innerText()).toMatch(/Showing (5[1-9]|6\d|7[0-5]) of/);
  await page.reload();
  await expect.poll(() => status.innerText()).toMatch(/Showing (5[1-9]|6\d|7[0-5]) of/);
  await page.getByRole('button', { name: 'Take back' }).click();
  await expect.poll(() => status.innerText()).toMatch(/Showing 50 of/);
});

test('the table has the entities of the picture and sorts them', async () => {
  const page = await graph(TOBIAS);
  const names = page.locator('tbody th');
  await expect.poll(() => names.first().innerText()).toBe('Tobias Quillhaven');
  await page.getByRole('button', { name: 'Entity', exact: true }).click();
  await expect.poll(() => page.locator('th[aria-sort=ascending]').innerText()).toBe('Entity');
  const sorted = await names.allInnerTexts();
  expect(sorted).toEqual([...sorted].sort(new Intl.Collator('en', { numeric: true }).compare));
});

test('a change of an entity is undone, and stays in its history', async () => {
  const page = await graph(TOBIAS);
  const pane = page.getByRole('complementary');
  await pane.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Type', { exact: true }).fill('founder');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“Tobias Quillhaven” is changed.').waitFor();
  await pane.getByText('founder', { exact: true }).waitFor();
  await page.getByRole('main').getByRole('button', { name: 'Undo' }).first().click();
  await page.getByText('The edit of “Tobias Quillhaven” is undone.').waitFor();
  await expect.poll(() => pane.getByText('founder', { exact: true }).count()).toBe(0);
  await pane.getByRole('heading', { name: 'History' }).waitFor();
});

test('two entities are merged after a look at the evidence of both, and the merge is undone', async () => {
  const page = await graph('?entity=Veldray+Instruments&view=table');
  const pane = page.getByRole('complementary');
  await pane.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Merge' }).click();
  await page.getByRole('combobox').fill('Veldray');
  await page.getByRole('option', { name: 'Veldray', exact: true }).click();
  for (const name of ['Veldray Instruments', 'Veldray']) {
    const side = page.getByRole('article', { name, exact: true });
    await side
      .getByRole('button', { name: /\.(md|txt|csv|html|jsonl)/ })
      .first()
      .waitFor();
  }
  await page.getByText('“Veldray Instruments” stays, and “Veldray” leads to it.').waitFor();
  await page.getByRole('button', { name: 'Merge into “Veldray Instruments”' }).click();
  await page.getByText('Merged into “Veldray Instruments”.').waitFor();
  const exists = async () => (await fetch(`${server.url}/graph/label/list`)).json() as Promise<string[]>;
  expect(await exists()).not.toContain('Veldray');
  await page.getByRole('main').getByRole('button', { name: 'Undo' }).first().click();
  await page.getByText('is undone.').waitFor();
  expect(await exists()).toContain('Veldray');
});

test('an entity that does not exist leads back to the search', async () => {
  const page = await graph('?entity=Nobody+at+all');
  await page.getByRole('heading', { name: 'No entity “Nobody at all”' }).waitFor();
  await page.getByRole('button', { name: 'Search again' }).click();
  await page.getByRole('heading', { name: 'Graph' }).waitFor();
});

test('a server that cannot be reached is said, and tried again', async () => {
  const page = await graph();
  await page.route('**/graphs?**', async route => await route.abort());
  await page.getByRole('link', { name: 'Tobias Quillhaven' }).click();
  await page.getByRole('heading', { name: 'The server cannot be reached' }).waitFor();
  await page.unroute('**/graphs?**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('complementary').getByRole('heading', { name: 'Tobias Quillhaven' }).waitFor();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds no serious fault on the ${colorScheme} pages of the graph`, async () => {
    for (const query of [
      '',
      '?entity=Tobias+Quillhaven',
      TOBIAS,
      '?entity=Kellmere&merge=Port+Sennet',
      '?edits',
    ]) {
      const page = await graph(query, { colorScheme });
      await page.getByRole('heading').first().waitFor();
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      expect(await seriousFaults(page), query).toEqual([]);
      await page.context().close();
    }
  });
}

test('a path joins two entities with the sentences that state each step', async () => {
  const page = await graph('?entity=Hearthmoth&view=table');
  await page.getByRole('complementary').getByRole('link', { name: 'Path to…' }).click();
  await page.getByRole('combobox', { name: 'To' }).fill('kellmere water');
  await page.getByRole('option', { name: 'Kellmere Water Board' }).click();
  await page.getByRole('link', { name: 'Kellmere Water Board' }).waitFor();
  const steps = page.getByRole('main').getByRole('listitem').getByRole('link');
  expect(await steps.first().innerText()).toBe('Hearthmoth');
  await page.getByRole('button', { name: /founding-charter\.md/ }).click();
  await page.getByRole('complementary').locator('mark').first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

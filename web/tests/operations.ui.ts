import { expect, test } from 'vitest';
import { addFile, addSamples, seriousFaults, site } from './support';

const { server, open } = site();

test('the log shows what is indexed, goes on after a restart of the server, and can be filtered', async () => {
  await addSamples(server);
  const page = await open('/activity');
  const log = page.getByRole('log');
  await log.getByText('staff.csv: in the graph').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await addFile(server, 'first-note.md', 'Ada Byron wrote to Charles Babbage from London.');
  await log.getByText('first-note.md: in the graph').waitFor();

  await server.stop();
  await page.getByText('Reconnecting').waitFor();
  await server.start();
  await page.getByText('Live', { exact: true }).waitFor();
  await addFile(server, 'second-note.md', 'Charles Babbage answered Ada Byron from Cambridge.');
  await log.getByText('second-note.md: in the graph').waitFor();
  expect(await log.getByText('first-note.md: in the graph').count()).toBe(1);

  await page.getByRole('searchbox', { name: 'Filter the log' }).fill('SECOND');
  await expect.poll(() => log.getByText('first-note.md').count()).toBe(0);
  expect(await log.getByText('second-note.md: in the graph').count()).toBe(1);
});

test('a paused queue says so; documents can be stopped one by one and all at once, and retried', async () => {
  server.run('pause');
  for (const name of ['a.md', 'b.md', 'c.md'])
    await addFile(server, name, `The document ${name} is about the river.`);
  const page = await open('/activity');
  await page.getByText('The queue is paused').waitFor();
  await page.getByRole('button', { name: 'Stop b.md' }).click();
  await page.getByRole('button', { name: 'Stopped', exact: true }).click();
  await page.getByRole('link', { name: 'b.md' }).waitFor();
  expect(new URL(page.url()).search).toBe('?show=cancelled');

  await page.getByRole('button', { name: 'In the queue' }).click();
  await page.getByRole('button', { name: 'Stop all' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop all' }).click();
  await page.getByText('Nothing is waiting').waitFor();

  await page.getByRole('button', { name: 'Stopped', exact: true }).click();
  await page.getByRole('button', { name: 'Retry c.md' }).click();
  await page.getByRole('button', { name: 'In the queue' }).click();
  await page.getByRole('link', { name: 'c.md' }).waitFor();
  server.run('resume');
});

test('a workspace begins with its first document, and is emptied only when its name is typed', async () => {
  const page = await open('/settings');
  await page.getByRole('button', { name: 'New workspace' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('default');
  await dialog.getByText('There is already a workspace default.').waitFor();
  await dialog.getByLabel('Name').fill('river');
  await dialog.getByLabel('First documents').setInputFiles({
    name: 'river.md',
    mimeType: 'text/markdown',
    buffer: Buffer.from('The Braid flows past Quillhaven into the sea.'),
  });
  await dialog.getByRole('button', { name: 'Create and open' }).click();
  await expect.poll(() => page.url()).toMatch(/\/w\/river\/ui\/$/);
  await page.getByRole('button', { name: 'Workspace: river' }).waitFor();

  await page.goto(`${server.url}/ui/settings`);
  await page.getByRole('button', { name: 'Empty river' }).click();
  const confirm = dialog.getByRole('button', { name: 'Delete all documents' });
  const name = dialog.getByLabel('Type river to confirm');
  await name.fill('rive');
  expect(await confirm.isDisabled()).toBe(true);
  await name.fill('river');
  await confirm.click();
  await page.getByText('0 documents', { exact: true }).waitFor();
});

test('the embedder is tested, and rules need no test', async () => {
  const page = await open('/settings/models');
  await page.getByRole('button', { name: 'Test Embedding' }).click();
  await page.getByText(/\d+ dimensions ·/).waitFor();
  expect(await page.getByRole('button', { name: 'Test Answers' }).count()).toBe(0);
});

test('a budget of the workspace is set, kept by the server, and removed', async () => {
  const page = await open('/activity/cost');
  await page.getByText('Model calls are not limited.').waitFor();
  await page.getByRole('button', { name: 'Set a budget' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('much');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(/amount is no limit/).waitFor();
  await dialog.getByRole('textbox').fill('2M');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('0 tokens of 2,000,000 tokens spent').waitFor();
  expect(server.run('budget')).toContain('of 2000000 tokens');
  await page.getByRole('button', { name: 'Change' }).click();
  expect(await dialog.getByRole('textbox').inputValue()).toBe('2000000');
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Remove the budget' }).click();
  await page.getByText('Model calls are not limited.').waitFor();
});

test('the palette opens pages and themes by keyboard, and single keys can be turned off', async () => {
  const page = await open('/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('cost');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toMatch(/\/activity\/cost$/);
  await page.getByText('No model calls yet').waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('dark');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  // On a busy machine, more time may pass between the two keys than a sequence may take.
  const goes = async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    return page.url();
  };
  await expect.poll(goes).toMatch(/\/documents$/);
  await page.keyboard.press('?');
  await page.getByRole('checkbox', { name: 'Use single keys as shortcuts' }).uncheck();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Command palette' }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(1);
});

test('no screen has serious accessibility faults, in both themes and at 360 px', async () => {
  const page = await open('/activity', { reducedMotion: 'reduce' });
  const screens = [
    '/activity',
    '/activity/cost',
    '/settings',
    '/settings/models',
    '/settings/access',
    '/settings/appearance',
  ];
  for (const path of screens) {
    await page.goto(`${server.url}/ui${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      expect(await seriousFaults(page), `${path} ${colorScheme}`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(
        width,
      );
    }
  }
});

// The last test of the file: from here on, the server asks for keys.
test('who may only read sees the queue and changes nothing', async () => {
  const key = server.run('key', 'create', 'reader', '--right', 'read').trim();
  const page = await open('/activity');
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('You may read here. Stopping and retrying need the right to write.').waitFor();
  await page.getByRole('button', { name: 'Problems', exact: true }).click();
  await page.getByText('Nothing failed').waitFor();
  expect(await page.getByRole('button', { name: /^Retry/ }).count()).toBe(0);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('Documents, graph and answers of one workspace').waitFor();
  expect(await page.getByRole('button', { name: /New workspace|Empty/ }).count()).toBe(0);
  await page.getByRole('link', { name: 'Access' }).click();
  await page.getByText('Ask and read').waitFor();
});

import { expect, test } from 'vitest';
import { seriousFaults, site } from './support';

const { open, server } = site();

test('the first key closes the server, and its maker goes on, makes a user and removes them', async () => {
  const page = await open('/settings/access');
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('This key closes the server').waitFor();
  await dialog.getByLabel('Name').fill('browser');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const key = (await dialog.locator('code').innerText()).trim();
  expect(key).toMatch(/^glk_/);
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  const rows = page.getByRole('listitem');
  await rows.filter({ hasText: 'browser' }).getByText('you').waitFor();
  expect((await fetch(`${server.url}/access`)).status).toBe(403);

  await page.getByRole('button', { name: 'New user' }).click();
  await dialog.getByLabel('Name').fill('ada');
  await dialog.getByLabel('Workspaces').fill('default');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const password = (await dialog.locator('code').innerText()).trim();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await rows.filter({ hasText: 'ada' }).getByText('default').waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  const login = () =>
    fetch(`${server.url}/login`, {
      method: 'POST',
      body: new URLSearchParams({ username: 'ada', password }),
    });
  expect((await login()).status).toBe(200);

  await page.getByRole('button', { name: 'Remove the user ada' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await expect.poll(() => rows.filter({ hasText: 'ada' }).count()).toBe(0);
  expect((await fetch(`${server.url}/access`, { headers: { 'x-api-key': key } })).status).toBe(200);
});

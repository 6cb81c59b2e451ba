import { expect, test } from 'vitest';
import { site } from './support';

let key = '';
let password = '';
const { open } = site(server => {
  key = server.run('key', 'create', 'notebook', '--right', 'write').trim().split('\n').at(-1) ?? '';
  password = server.run('user', 'add', 'ada', '--right', 'read').trim().split('\n').at(-1) ?? '';
});

test('a user signs in, may read and not add, and signs out', async () => {
  const page = await open('/');
  await page.getByLabel('Name').fill('ada');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('Incorrect credentials').waitFor();
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('You may read documents here, and not change them.').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Add your first documents' }).waitFor();
  await page.getByRole('button', { name: 'Preferences' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.evaluate(() => localStorage.getItem('graphloom.credential'))).toBeNull();
});

test('a key lets in, and a wrong one does not', async () => {
  const page = await open('/documents');
  await page.getByRole('button', { name: 'Use an API key' }).click();
  await page.getByLabel('API key').fill('glk_000000000000_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('This key is not accepted.').waitFor();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: /Try the samples/ }).waitFor();
});

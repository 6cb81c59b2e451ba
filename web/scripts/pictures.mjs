// Takes the pictures of the documentation: node scripts/pictures.mjs URL FOLDER, with a server that has indexed samples/lab.
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [url, folder] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});

/** Opens a page of the UI, shows something on it, and takes a picture. */
async function picture(name, colorScheme, path, show) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    locale: 'en-US',
  });
  await page.goto(`${url}/ui${path}`);
  await show(page);
  await page.mouse.move(640, 790);
  // Transitions end.
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(folder, name) });
  await page.close();
}

async function ask(page, question) {
  await page.getByRole('textbox').fill(question);
  await page.keyboard.press('Enter');
  await page.locator('article button[aria-pressed]').first().waitFor();
}

await picture('web-ask.png', 'light', '/', async page => {
  await ask(page, 'What are the main themes?');
  await page.locator('article button[aria-pressed]').nth(1).click();
  await page.locator('mark').first().waitFor();
});
await picture('web-why.png', 'dark', '/', async page => {
  await ask(page, 'Who built the instrument that the Hearthmoth grew out of?');
  await page.getByRole('button', { name: 'Why this answer' }).click();
  await page.locator('meter').first().waitFor();
});
await picture('web-documents.png', 'light', '/documents', async page => {
  await page.getByRole('button', { name: 'Name' }).click();
  await page.getByRole('link', { name: 'braidline-product-sheet.md' }).waitFor();
});
await picture('web-history.png', 'light', '/', async page => {
  await ask(page, 'Who was the first customer of Braidline?');
  await page.getByRole('button', { name: 'History' }).click();
  await page.getByRole('region', { name: 'History' }).getByRole('link').first().waitFor();
});
await picture('web-path.png', 'dark', '/graph?entity=Hearthmoth&to=Kellmere+Water+Board', async page => {
  await page.getByRole('button', { name: /founding-charter/ }).waitFor();
});
await browser.close();

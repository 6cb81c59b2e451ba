// Takes the pictures of the documentation: node scripts/pictures.mjs URL FOLDER, with a server that has indexed samples/lab. Adds a PDF file.
import { readFileSync } from 'node:fs';
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

// One of the samples, printed.
const report = readFileSync(
  join(import.meta.dirname, '../../samples/lab/hearthmoth-incident-report.txt'),
  'utf8',
);
const paper = await browser.newPage();
await paper.evaluate(text => {
  document.body.style.cssText = 'font: 12pt/1.5 serif; font-kerning: none; margin: 1cm';
  for (const paragraph of text.split(/\n\s*\n/)) {
    const element = document.createElement(document.body.childElementCount === 0 ? 'h1' : 'p');
    element.textContent = paragraph;
    document.body.append(element);
  }
}, report);
const file = await paper.pdf({ format: 'A4', margin: { top: '2cm', bottom: '2cm' } });
await paper.close();
const form = new FormData();
form.append('file', new Blob([file]), 'hearthmoth-incident-report.pdf');
await fetch(`${url}/documents/upload?replace=true`, { method: 'POST', body: form });
for (;;) {
  const { status_counts: counts } = await (await fetch(`${url}/documents/status_counts`)).json();
  if (counts.pending + counts.processing === 0) break;
  await new Promise(resolve => setTimeout(resolve, 200));
}
await picture('web-pdf.png', 'light', '/', async page => {
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByLabel('File names').fill('*.pdf');
  await page.getByRole('button', { name: 'Apply' }).click();
  await ask(page, 'How much did the recall of the Hearthmoth cost?');
  await page.locator('article button[aria-pressed]').first().click();
  await page.locator('mark').first().waitFor();
});
await browser.close();

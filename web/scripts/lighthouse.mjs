// Runs Lighthouse on screens of the built UI: node scripts/lighthouse.mjs URL, with a server that has indexed samples/lab. Fails below 95.
//
// Takes Lighthouse from npm when it is run; it is no dependency, since it is larger than everything else together.
import { spawnSync } from 'node:child_process';

const url = process.argv[2] ?? 'http://127.0.0.1:9621';
const LIGHTHOUSE = 'lighthouse@13';
const SCREENS = ['/', '/documents', '/graph', '/activity', '/settings'];
const FORMS = { desktop: ['--preset=desktop'], phone: [] };
const CATEGORIES = ['performance', 'accessibility', 'best-practices'];
const LEAST = { performance: 95, accessibility: 95 };

let isLow = false;
for (const [form, options] of Object.entries(FORMS)) {
  for (const screen of SCREENS) {
    const { stdout, stderr, status } = spawnSync(
      'npx',
      [
        '--yes',
        LIGHTHOUSE,
        `${url}/ui${screen}`,
        '--quiet',
        '--output=json',
        `--only-categories=${CATEGORIES.join(',')}`,
        '--chrome-flags=--headless --no-sandbox --disable-gpu --no-first-run',
        ...options,
      ],
      {
        encoding: 'utf8',
        maxBuffer: 64 << 20,
        env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? '/usr/bin/chromium' },
      },
    );
    if (status !== 0) throw new Error(stderr);
    const { categories, audits } = JSON.parse(stdout);
    const scores = CATEGORIES.map(name => [name, Math.round(categories[name].score * 100)]);
    isLow ||= scores.some(([name, score]) => score < (LEAST[name] ?? 0));
    const shown = scores.map(([name, score]) => `${name} ${score}`).join(', ');
    const paint = audits['largest-contentful-paint'].displayValue;
    console.log(`${form.padEnd(8)} ${screen.padEnd(12)} ${shown}; largest paint ${paint}`);
    for (const name of CATEGORIES)
      for (const { id } of categories[name].auditRefs)
        if (audits[id].score !== null && audits[id].score < 0.9)
          console.log(`           ${id}: ${audits[id].displayValue ?? audits[id].title}`);
  }
}
if (isLow) process.exit(1);

// Prints the brotli size of the first load (the page, and the scripts and styles it names) and fails above the limit.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const LIMIT_KB = 200;
const dist = join(import.meta.dirname, '../../crates/server/ui/dist');

const whole = readFileSync(join(dist, 'index.html'), 'utf8');
// The server sends the preloads of a page only with that page.
const page = whole.replace(/^.*data-page=.*\n/gm, '');
const first = new Set([...page.matchAll(/assets\/([^"]+)"/g)].map(([, name]) => name));
let total = page.length;
const built = readdirSync(join(dist, 'assets')).sort();
for (const name of built
  .filter(name => /\.(js|mjs|css|svg)\.gz$/.test(name))
  .map(name => name.slice(0, -3))) {
  const packed = built.includes(`${name}.br`) ? 'br' : 'gz';
  const { size } = statSync(join(dist, 'assets', `${name}.${packed}`));
  if (first.has(name)) total += size;
  console.log(
    `${(size / 1000).toFixed(1).padStart(8)} kB  ${first.has(name) ? 'first load' : 'later     '}  ${packed}  ${name}`,
  );
}
const kb = total / 1000;
console.log(`${kb.toFixed(1).padStart(8)} kB  first load, brotli; the limit is ${LIMIT_KB} kB`);
if (kb > LIMIT_KB) process.exit(1);

// Replaces each built asset by a gzip form, and those that a page loads first also by a brotli form, which is a sixth smaller; the server
// embeds both and sends the one the browser accepts.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const dist = join(import.meta.dirname, '../../crates/server/ui/dist');
const assets = join(dist, 'assets');
const page = readFileSync(join(dist, 'index.html'), 'utf8');

for (const name of readdirSync(assets)) {
  const file = join(assets, name);
  const bytes = readFileSync(file);
  if (page.includes(`assets/${name}"`)) {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  }
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
  rmSync(file);
}

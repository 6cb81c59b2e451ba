// Replaces each built asset by a gzip form, and by a brotli form too where that is smaller; the server embeds both and sends the one the
// browser accepts. The tables of characters and the fonts that PDFs need are packed already.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const assets = join(import.meta.dirname, '../../crates/server/ui/dist/assets');

for (const name of readdirSync(assets)) {
  const file = join(assets, name);
  const bytes = readFileSync(file);
  if (!/\.(bcmap|pfb)$/.test(name)) {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  }
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
  rmSync(file);
}

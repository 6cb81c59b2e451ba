import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

const LOOKS = join(import.meta.dirname, 'looks');
/** `LOOKS=write` replaces the kept pictures by what the screens look like now. */
const WRITES = process.env.LOOKS === 'write';
/** A picture is kept at a tenth of its size: letters become grey, so that fonts hardly matter, and what moves or changes colour is seen. */
const SCALE = 10;
/** A pixel is another one when a channel differs by more than this, of 255. */
const NEAR = 24;

/**
 * The share of pixels, 0 to 1, in which a page differs from the picture of it that is kept.
 *
 * Where it differs, the picture of the page as it is now is written to `looks/now/`, which git ignores.
 */
export async function differenceFromLook(page: Page, name: string): Promise<number> {
  const kept = join(LOOKS, `${name}.png`);
  let shot = await pictureOf(page);
  // What comes a moment later is part of the picture that is kept.
  for (let next = ''; WRITES && next !== shot;) {
    await page.waitForTimeout(500);
    next = shot;
    shot = await pictureOf(page);
  }
  if (!WRITES && !existsSync(kept))
    throw new Error(`${kept} is missing: look at the screen, then run with LOOKS=write`);
  const before = WRITES ? undefined : readFileSync(kept, 'base64');
  // The policy of the UI's own pages forbids pictures from elsewhere.
  const blank = await page.context().newPage();
  const { small, difference } = await blank.evaluate(compare, { shot, before, scale: SCALE, near: NEAR });
  await blank.close();
  if (WRITES || difference > 0) {
    const folder = WRITES ? LOOKS : join(LOOKS, 'now');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.png`), small, 'base64');
  }
  return difference;
}

async function pictureOf(page: Page): Promise<string> {
  return (await page.screenshot({ animations: 'disabled', caret: 'hide' })).toString('base64');
}

interface Pictures {
  shot: string;
  before: string | undefined;
  scale: number;
  near: number;
}

/** Runs in the browser, which can read and draw pictures. */
async function compare({
  shot,
  before,
  scale,
  near,
}: Pictures): Promise<{ small: string; difference: number }> {
  const decoded = async (png: string) =>
    await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const whole = await decoded(shot);
  const canvas = new OffscreenCanvas(Math.ceil(whole.width / scale), Math.ceil(whole.height / scale));
  const pixelsOf = (picture: ImageBitmap) => {
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('no canvas');
    context.imageSmoothingQuality = 'high';
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  const after = pixelsOf(whole);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/png' })).arrayBuffer());
  const small = btoa(String.fromCharCode(...bytes));
  if (before === undefined) return { small, difference: 0 };
  const old = await decoded(before);
  if (old.width !== canvas.width || old.height !== canvas.height) return { small, difference: 1 };
  const earlier = pixelsOf(old);
  let others = 0;
  for (let at = 0; at < after.length; at += 4) {
    const isOther = [0, 1, 2].some(
      channel => Math.abs((after[at + channel] ?? 0) - (earlier[at + channel] ?? 0)) > near,
    );
    others += isOther ? 1 : 0;
  }
  return { small, difference: others / (after.length / 4) };
}

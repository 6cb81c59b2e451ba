import {
  GlobalWorkerOptions,
  type PDFDocumentProxy,
  type PDFPageProxy,
  TextLayer,
  getDocument,
} from 'pdfjs-dist/legacy/build/pdf.mjs';
import workerUrl from 'pdfjs-dist/legacy/build/pdf.worker.min.mjs?url';

export type { PDFDocumentProxy };

GlobalWorkerOptions.workerSrc = workerUrl;

/**
 * Tables of characters, and the fonts that no system replaces; loaded for the files that need them. The tables for UTF-8 and UTF-32 are
 * not among those that a PDF may name (ISO 32000-1, table 118).
 */
const FILES = import.meta.glob<string>(
  [
    '/node_modules/pdfjs-dist/cmaps/*.bcmap',
    '!/node_modules/pdfjs-dist/cmaps/*-UTF{8,32}-*.bcmap',
    '/node_modules/pdfjs-dist/standard_fonts/Foxit{Symbol,Dingbats}.pfb',
  ],
  { query: '?url', import: 'default', exhaustive: true, eager: true },
);

class AssetFactory {
  async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
    const [, url] = Object.entries(FILES).find(([path]) => path.endsWith(`/${filename}`)) ?? [];
    if (url === undefined) throw new Error(`no file ${filename}`);
    return new Uint8Array(await (await fetch(url)).arrayBuffer());
  }
}

/** Opens a file. It runs no script of the file and loads nothing that the file names. */
export function openPdf(bytes: Uint8Array): { opened: Promise<PDFDocumentProxy>; close: () => void } {
  const task = getDocument({
    // The worker takes the bytes away.
    data: bytes.slice(),
    isEvalSupported: false,
    // Compiling WebAssembly would need a wider content security policy.
    useWasm: false,
    useWorkerFetch: false,
    // Named, so that the factory is asked for them.
    cMapUrl: './',
    standardFontDataUrl: './',
    BinaryDataFactory: AssetFactory,
    verbosity: 0,
  });
  return { opened: task.promise, close: () => void task.destroy() };
}

/** A page as it is drawn: its picture, and above that its text. */
export interface DrawnPage {
  /** The text items of the page. */
  items: string[];
  /** The element of each. */
  elements: HTMLElement[];
}

interface Place {
  canvas: HTMLCanvasElement;
  layer: HTMLElement;
  /** Width of the page in CSS pixels. */
  width: number;
  signal: AbortSignal;
}

/** Draws a page. After `signal` aborts, the promise is rejected. */
export async function drawPage(page: PDFPageProxy, place: Place): Promise<DrawnPage> {
  const { canvas, layer, width, signal } = place;
  const scale = width / page.getViewport({ scale: 1 }).width;
  const viewport = page.getViewport({ scale });
  const ratio = Math.min(globalThis.devicePixelRatio, 3);
  canvas.width = Math.floor(viewport.width * ratio);
  canvas.height = Math.floor(viewport.height * ratio);
  canvas.style.width = `${viewport.width}px`;
  canvas.style.height = `${viewport.height}px`;
  const rendering = page.render({ canvas, viewport, transform: [ratio, 0, 0, ratio, 0, 0] });
  layer.replaceChildren();
  layer.style.setProperty('--total-scale-factor', String(scale));
  const content = await page.getTextContent();
  const text = new TextLayer({ textContentSource: content, container: layer, viewport });
  signal.addEventListener('abort', () => {
    rendering.cancel();
    text.cancel();
  });
  if (signal.aborted) {
    rendering.cancel();
    signal.throwIfAborted();
  }
  await Promise.all([rendering.promise, text.render()]);
  signal.throwIfAborted();
  return { items: text.textContentItemsStr, elements: text.textDivs };
}

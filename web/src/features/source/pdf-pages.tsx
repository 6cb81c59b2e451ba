import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../design/button';
import { ChevronIcon, MinusIcon, PlusIcon, WarningIcon } from '../../design/icons';
import { Note, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Mark, marksOf } from './marks';
import type { PagePassage } from './pages';
import { type PDFDocumentProxy, drawPage, openPdf } from './pdf';
import styles from './pdf.module.css';
import texts from './texts';

/** How much wider than the pane a page can be, in steps. */
const ZOOMS = [1, 1.5, 2, 3];

interface Props {
  file: Uint8Array;
  /** What to mark, by page; the first page of these is shown first. */
  passages: PagePassage[];
  /** Shown where the file cannot be opened. */
  children: ReactNode;
}

/** The pages of a PDF file, one at a time, with passages marked. */
export default function PdfPages({ file, passages, children }: Props) {
  const t = useTexts(texts);
  const pdf = usePdf(file);
  if (pdf.state === 'failed') {
    return (
      <>
        <Note tone="warn" icon={<WarningIcon />}>
          {t('cannotShow', { reason: pdf.reason })}
        </Note>
        {children}
      </>
    );
  }
  if (pdf.state === 'opening') return <Skeleton lines={14} />;
  return <Pages pdf={pdf.document} passages={passages} />;
}

type Opened =
  { state: 'opening' } | { state: 'open'; document: PDFDocumentProxy } | { state: 'failed'; reason: string };

function usePdf(file: Uint8Array): Opened {
  const [opened, setOpened] = useState<Opened & { file?: Uint8Array }>({ state: 'opening' });
  useEffect(() => {
    let isOver = false;
    const { opened: opening, close } = openPdf(file);
    opening.then(
      document => !isOver && setOpened({ state: 'open', document, file }),
      (error: unknown) =>
        !isOver && setOpened({ state: 'failed', reason: error instanceof Error ? error.message : '', file }),
    );
    return () => {
      isOver = true;
      close();
    };
  }, [file]);
  return opened.file === file ? opened : { state: 'opening' };
}

function Pages({ pdf, passages }: { pdf: PDFDocumentProxy; passages: PagePassage[] }) {
  const t = useTexts(texts);
  const [zoom, setZoom] = useState(0);
  const first = passages[0]?.page ?? 1;
  const [turned, setTurned] = useState<{ passages: PagePassage[]; page: number }>();
  // Another passage opens at its own page.
  const page = Math.min(turned?.passages === passages ? turned.page : first, pdf.numPages);
  const turn = (to: number) => setTurned({ passages, page: to });
  const passage = passages.find(one => one.page === page);
  return (
    <div className={styles.pages}>
      <div className={styles.bar} role="toolbar" aria-label={t('pages')}>
        <Button look="quiet" label={t('previousPage')} disabled={page <= 1} onClick={() => turn(page - 1)}>
          <span className={styles.previous}>
            <ChevronIcon />
          </span>
        </Button>
        <span className={styles.number} role="status">
          {t('page', { page, pages: pdf.numPages })}
        </span>
        <Button
          look="quiet"
          label={t('nextPage')}
          disabled={page >= pdf.numPages}
          onClick={() => turn(page + 1)}
        >
          <span className={styles.next}>
            <ChevronIcon />
          </span>
        </Button>
        {passages.length > 0 && !(passages.length === 1 && passage) && (
          <span className={styles.passages}>
            {t('passageOn')}
            {passages.map(one => (
              <button
                key={one.page}
                type="button"
                className={styles.jump}
                aria-current={one.page === page ? 'page' : undefined}
                onClick={() => turn(one.page)}
              >
                {one.page}
              </button>
            ))}
          </span>
        )}
        <span className={styles.zoom}>
          <Button look="quiet" label={t('zoomOut')} disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
            <MinusIcon />
          </Button>
          <Button
            look="quiet"
            label={t('zoomIn')}
            disabled={zoom === ZOOMS.length - 1}
            onClick={() => setZoom(zoom + 1)}
          >
            <PlusIcon />
          </Button>
        </span>
      </div>
      <Page pdf={pdf} page={page} passage={passage?.text} zoom={ZOOMS[zoom] ?? 1} />
    </div>
  );
}

interface PageProps {
  pdf: PDFDocumentProxy;
  page: number;
  passage: string | undefined;
  zoom: number;
}

function Page({ pdf, page, passage, zoom }: PageProps) {
  const t = useTexts(texts);
  const canvas = useRef<HTMLCanvasElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const [frame, width] = useWidth();
  const wanted = useMemo(() => ({ pdf, page, passage, zoom, width }), [pdf, page, passage, zoom, width]);
  const [drawn, setDrawn] = useState<{ wanted: typeof wanted; isMarked: boolean; fault?: string }>();
  useEffect(() => {
    const places = { canvas: canvas.current, layer: layer.current };
    if (!places.canvas || !places.layer || width === 0) return;
    const place = { canvas: places.canvas, layer: places.layer, width: width * zoom };
    const end = new AbortController();
    const draw = async () => {
      const { items, elements } = await drawPage(await pdf.getPage(page), { ...place, signal: end.signal });
      const marks = passage === undefined ? [] : marksOf(items, passage);
      mark(elements, marks);
      const first = place.layer.querySelector('mark');
      if (first) bringIntoSight(first);
      setDrawn({ wanted, isMarked: marks.length > 0 });
    };
    draw().catch((error: unknown) => {
      if (!end.signal.aborted)
        setDrawn({ wanted, isMarked: false, fault: error instanceof Error ? error.message : '' });
    });
    return () => end.abort();
  }, [wanted, pdf, page, passage, zoom, width]);
  const isDrawn = drawn?.wanted === wanted;
  return (
    <>
      {isDrawn && drawn.fault !== undefined && (
        <Note tone="warn" icon={<WarningIcon />}>
          {t('cannotShow', { reason: drawn.fault })}
        </Note>
      )}
      {isDrawn && drawn.fault === undefined && passage !== undefined && !drawn.isMarked && (
        <Note>{t('notMarked')}</Note>
      )}
      <div ref={frame} className={styles.frame}>
        <section
          className={styles.sheet}
          aria-label={t('page', { page, pages: pdf.numPages })}
          aria-busy={!isDrawn}
          dir="ltr"
        >
          <canvas ref={canvas} aria-hidden="true" />
          <div ref={layer} className={styles.layer} />
        </section>
      </div>
    </>
  );
}

/** The width of an element in pixels, 0 before it is known. Small changes, such as those of a scroll bar, do not count. */
function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver(() => {
      const next = element.clientWidth;
      setWidth(known => (Math.abs(known - next) < 24 && known <= next ? known : next));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, width];
}

/** Scrolls the boxes around an element that scroll, and not the page itself. */
function bringIntoSight(element: Element): void {
  for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(box);
    const [at, around] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
    if (/auto|scroll/.test(overflowY)) box.scrollTop += at.top - around.top - box.clientHeight / 2;
    if (/auto|scroll/.test(overflowX) && box.scrollWidth > box.clientWidth)
      box.scrollLeft += at.left - around.left - box.clientWidth / 4;
  }
}

/** Wraps the marked characters of each element. */
function mark(elements: HTMLElement[], marks: Mark[]): void {
  for (const { item, start, end } of marks) {
    const element = elements[item];
    const text = element?.lastChild;
    if (!element || !(text instanceof Text)) continue;
    // An item can have several marks, which come in order: the last piece of text is what is left of it.
    const before = element.textContent.length - text.data.length;
    const marked = document.createElement('mark');
    const rest = text.splitText(start - before);
    const after = rest.splitText(end - start);
    rest.replaceWith(marked);
    marked.append(rest);
    if (after.data === '') after.remove();
  }
}

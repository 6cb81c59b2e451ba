import { COLOURS } from './view';

/** The colours and the font of the picture, as the browser writes them. */
export interface Colours {
  /** By the colour of a type. */
  kinds: string[];
  far: string;
  edge: string;
  edgeNear: string;
  edgeFar: string;
  ink: string;
  page: string;
  font: string;
}

/** The colours at an element: tokens resolved to what a canvas understands. */
export function coloursOf(element: HTMLElement): Colours {
  const probe = document.createElement('span');
  element.append(probe);
  const colour = (token: string): string => {
    probe.style.color = `var(--${token})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    kinds: Array.from({ length: COLOURS + 1 }, (_, index) => colour(`kind-${index}`)),
    far: colour('graph-far'),
    edge: colour('graph-edge'),
    edgeNear: colour('graph-edge-near'),
    edgeFar: colour('graph-edge-far'),
    ink: colour('ink'),
    page: colour('page'),
    font: getComputedStyle(element).fontFamily,
  };
  probe.remove();
  return colours;
}

/** Calls back when the theme changes, by choice or by the system. Returns how to stop. */
export function onAppearance(changed: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(changed);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  system.addEventListener('change', changed);
  return () => {
    chosen.disconnect();
    system.removeEventListener('change', changed);
  };
}

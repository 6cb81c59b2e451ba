import Graph from 'graphology';
import { useEffect, useMemo, useRef, useState } from 'react';
import Sigma from 'sigma';
import { Button } from '../../design/button';
import { MinusIcon, PlusIcon } from '../../design/icons';
import { useTexts } from '../../i18n/text';
import { type Colours, coloursOf, onAppearance } from './colours';
import styles from './graph.module.css';
import { FitIcon } from './icons';
import { placesOf } from './layout';
import { cardOn, labelOn } from './labels';
import texts from './texts';
import { type Part, type Places, degreesOf, neighboursOf, pairOf, together } from './view';

const MOVE_MS = 120;
/** More entities have smaller points. */
const USUAL_COUNT = 700;
/** The smallest point of an entity with a name beside it, in pixels, where points have their usual size. */
const NAMED_SIZE = 5;

const scaleOf = ({ entities }: Part): number => Math.min(1, Math.sqrt(USUAL_COUNT / entities.length));

interface Props {
  /** The parts in the order in which the graph grew; each leaves the places of those before it as they are. */
  parts: Part[];
  /** What of them is shown. */
  shown: Part;
  kinds: ReadonlyMap<string, number>;
  /** The entity that the graph started from. */
  center: string;
  /** The entity whose surroundings stand out. */
  selected: string | undefined;
  onSelect: (name: string | undefined) => void;
  onExpand: (name: string) => void;
  onFailure: () => void;
}

/** The graph as a picture that can be moved, zoomed and clicked. */
export default function GraphCanvas(props: Props) {
  const { parts, shown, kinds, center, selected } = props;
  const t = useTexts(texts);
  const box = useRef<HTMLDivElement>(null);
  const [sigma, setSigma] = useState<Sigma>();
  const [colours, setColours] = useState<Colours>();
  const [hovered, setHovered] = useState<string>();
  const handlers = useRef(props);
  useEffect(() => {
    handlers.current = props;
  });

  useEffect(() => {
    if (!box.current) return undefined;
    const container = box.current;
    let made: Sigma;
    try {
      made = new Sigma(new Graph({ type: 'undirected' }), container, {
        allowInvalidContainer: true,
        hideEdgesOnMove: true,
        labelDensity: 0.6,
        labelGridCellSize: 110,
        minCameraRatio: 0.05,
        maxCameraRatio: 3,
        stagePadding: 72,
        zIndex: true,
      });
    } catch {
      handlers.current.onFailure();
      return undefined;
    }
    made.on('clickNode', ({ node }) => handlers.current.onSelect(node));
    made.on('clickStage', () => handlers.current.onSelect(undefined));
    made.on('doubleClickNode', event => {
      event.preventSigmaDefault();
      handlers.current.onExpand(event.node);
    });
    made.on('enterNode', ({ node }) => {
      setHovered(node);
      container.style.cursor = 'pointer';
    });
    made.on('leaveNode', () => {
      setHovered(undefined);
      container.style.cursor = '';
    });
    const read = () => setColours(coloursOf(container));
    const stop = onAppearance(read);
    read();
    setSigma(made);
    return () => {
      stop();
      made.kill();
      setSigma(undefined);
    };
  }, []);

  const places = useMemo(() => placesOfAll(parts), [parts]);
  useEffect(() => {
    if (!sigma || !colours) return;
    const focus = hovered ?? selected;
    const near =
      focus === undefined
        ? undefined
        : new Set([focus, ...neighboursOf(shown, focus).map(({ name }) => name)]);
    sigma.setSettings({
      labelFont: colours.font,
      labelSize: 12,
      labelWeight: '500',
      labelColor: { color: colours.ink },
      labelRenderedSizeThreshold: NAMED_SIZE * scaleOf(shown),
      defaultDrawNodeLabel: labelOn(colours.page),
      defaultDrawNodeHover: cardOn(colours.page),
      nodeReducer: (name, data) => {
        const isFar = near !== undefined && !near.has(name);
        return {
          ...data,
          color: isFar ? colours.far : (colours.kinds[kinds.get(String(data.kind)) ?? 0] ?? colours.ink),
          label: isFar ? null : (data.label as string),
          zIndex: isFar ? 0 : 1,
          highlighted: name === (focus ?? center),
          forceLabel:
            name === (focus ?? center) ||
            (hovered !== undefined && !isFar && near !== undefined && near.size < 14),
        };
      },
      edgeReducer: (_, data) => {
        const isNear = focus !== undefined && (data.source === focus || data.target === focus);
        if (focus === undefined) return { ...data, color: colours.edge };
        return { ...data, color: isNear ? colours.edgeNear : colours.edgeFar, zIndex: isNear ? 1 : 0 };
      },
    });
  }, [sigma, colours, kinds, shown, center, selected, hovered]);

  // After the settings, each change of which reads the whole graph again.
  useEffect(() => {
    if (!sigma) return;
    sigma.setGraph(graphOf(shown, places));
  }, [sigma, shown, places]);

  const camera = () => sigma?.getCamera();
  return (
    <div className={styles.canvas}>
      <div
        ref={box}
        className={styles.sigma}
        role="img"
        aria-label={t('canvas', { count: shown.entities.length })}
        data-ready={sigma !== undefined && colours !== undefined}
      />
      <div className={styles.zoom}>
        <Button label={t('zoomIn')} onClick={() => void camera()?.animatedZoom({ duration: MOVE_MS })}>
          <PlusIcon />
        </Button>
        <Button label={t('zoomOut')} onClick={() => void camera()?.animatedUnzoom({ duration: MOVE_MS })}>
          <MinusIcon />
        </Button>
        <Button label={t('fit')} onClick={() => void camera()?.animatedReset({ duration: MOVE_MS })}>
          <FitIcon />
        </Button>
      </div>
    </div>
  );
}

/** Places found so far, by the part that they are of and the places that it started from. */
const found = new WeakMap<Part, { known: Places; places: Places }>();

/** The places of all entities: those of the first part, then of each further part around them. */
function placesOfAll(parts: Part[]): Places {
  let known: Places = new Map();
  parts.forEach((part, index) => {
    const before = found.get(part);
    // An expansion also moves nothing when only a later part is read again.
    const places =
      before && sameKeys(before.known, known)
        ? before.places
        : index === 0 && part.places
          ? part.places
          : placesOf(together(parts.slice(0, index + 1)), known);
    found.set(part, { known, places });
    known = places;
  });
  return known;
}

const sameKeys = (a: Places, b: Places): boolean => a === b || (a.size === 0 && b.size === 0);

function graphOf(part: Part, places: Places): Graph {
  const graph = new Graph({ type: 'undirected' });
  const degrees = degreesOf(part);
  const scale = scaleOf(part);
  for (const { name, kind } of part.entities) {
    const size = scale * Math.min(4 + 1.6 * Math.sqrt(degrees.get(name) ?? 0), 18);
    graph.addNode(name, { ...(places.get(name) ?? { x: 0, y: 0 }), size, label: name, kind });
  }
  for (const relation of part.relations) {
    const { source, target, weight } = relation;
    if (source === target || !graph.hasNode(source) || !graph.hasNode(target)) continue;
    const size = Math.sqrt(scale) * Math.min(0.8 + 0.4 * Math.log1p(weight), 3);
    graph.addUndirectedEdgeWithKey(pairOf(relation), source, target, { size, source, target });
  }
  return graph;
}

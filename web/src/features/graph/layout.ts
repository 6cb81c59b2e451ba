import Graph from 'graphology';
import forceAtlas2 from 'graphology-layout-forceatlas2';
import { type Part, type Place, type Places, pairOf } from './view';

/** Above this size, forces between far groups of entities are summed up. */
const EXACT = 250;

/** A number from 0 to 1 that depends on the text only (FNV-1a, then mixed). */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

/**
 * A place for every entity of a part, by ForceAtlas2 (Jacomy et al., 2014).
 *
 * The same part has the same places in every visit: the start depends on the names only. Entities in `known` stay where
 * they are, and others start beside a neighbour that has a place.
 */
export function placesOf(part: Part, known: Places): Places {
  const graph = new Graph({ type: 'undirected' });
  const start = (name: string): Place => {
    const at = neighbourPlace(part, known, name);
    const angle = seedOf(name) * 2 * Math.PI;
    const radius = at ? 12 : 100 * Math.sqrt(seedOf(`${name} radius`));
    return { x: (at?.x ?? 0) + radius * Math.cos(angle), y: (at?.y ?? 0) + radius * Math.sin(angle) };
  };
  for (const { name } of part.entities) {
    const place = known.get(name);
    graph.addNode(name, { ...(place ?? start(name)), size: 4, fixed: place !== undefined });
  }
  for (const relation of part.relations) {
    const { source, target, weight } = relation;
    if (source === target || !graph.hasNode(source) || !graph.hasNode(target)) continue;
    graph.addUndirectedEdgeWithKey(pairOf(relation), source, target, { weight: 1 + Math.log1p(weight) });
  }
  const isLarge = graph.order > EXACT;
  const settings = {
    barnesHutOptimize: isLarge,
    barnesHutTheta: 0.8,
    gravity: 1.2,
    scalingRatio: 16,
    slowDown: 2 + Math.log1p(graph.order),
    edgeWeightInfluence: 0.5,
  };
  const getEdgeWeight = 'weight';
  forceAtlas2.assign(graph, { iterations: isLarge ? 80 : 200, getEdgeWeight, settings });
  // Then apart, so that no point covers another.
  forceAtlas2.assign(graph, {
    iterations: isLarge ? 15 : 40,
    getEdgeWeight,
    settings: { ...settings, adjustSizes: true, barnesHutOptimize: false },
  });
  return new Map(
    graph.mapNodes((name, { x, y }: { x?: unknown; y?: unknown }) => [name, { x: Number(x), y: Number(y) }]),
  );
}

function neighbourPlace({ relations }: Part, known: Places, name: string): Place | undefined {
  if (known.size === 0) return undefined;
  for (const { source, target } of relations) {
    const other = source === name ? target : target === name ? source : undefined;
    const place = other === undefined ? undefined : known.get(other);
    if (place) return place;
  }
  return undefined;
}

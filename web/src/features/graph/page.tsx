import { lazy } from 'react';
import { useRoute, useSearch } from 'wouter';
import { shownIn } from './address';
import { StartPage } from './start-page';
import { useEditing } from './use-graph';

const CommunitiesPage = lazy(() => import('./communities-page'));
const Explore = lazy(() => import('./explore'));
const MergePage = lazy(() => import('./merge-page'));
const PathPage = lazy(() => import('./path-page'));
const TreePage = lazy(() => import('./tree-page'));

/** The graph: a search to start from, its communities, the tree of summaries, the surroundings of an entity, and two entities side by side to merge. */
export default function GraphPage() {
  const shown = shownIn(new URLSearchParams(useSearch()));
  const editing = useEditing();
  const [isCommunities, community] = useRoute('/communities/:id?');
  const [isTree, node] = useRoute('/tree/:id?');
  if (isTree) return <TreePage id={node.id} />;
  if (isCommunities) return <CommunitiesPage id={community.id} />;
  if (shown.to !== undefined) return <PathPage shown={shown} from={shown.entity} to={shown.to} />;
  if (shown.entity === undefined) return <StartPage shown={shown} editing={editing} />;
  if (shown.merge !== undefined) {
    return (
      <MergePage
        key={`${shown.entity}\n${shown.merge}`}
        shown={shown}
        name={shown.entity}
        editing={editing}
      />
    );
  }
  return <Explore key={shown.entity} shown={shown} name={shown.entity} editing={editing} />;
}

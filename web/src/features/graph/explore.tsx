import { lazy, Suspense, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { Button, buttonClass } from '../../design/button';
import { BackIcon, ChevronIcon, QuestionIcon } from '../../design/icons';
import { Menu, MenuChoice } from '../../design/menu';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { Switch } from '../../design/switch';
import { useTexts } from '../../i18n/text';
import { type Passage, SourcePane } from '../source/source-pane';
import { BUDGETS, EXPANSION, type Shown, hrefOf } from './address';
import { DoneNote } from './done-note';
import { EditsPane } from './edits-pane';
import { EntityPane } from './entity-pane';
import styles from './graph.module.css';
import { GraphTable } from './graph-table';
import { SearchBox } from './search-box';
import texts from './texts';
import { type Editing, faultOf, useSurroundings } from './use-graph';
import { type Kind, type Part, grown, kindsOf, together, without } from './view';

// The library that draws is as large as the rest of the page.
const GraphCanvas = lazy(() => import('./graph-canvas'));

interface Props {
  shown: Shown;
  name: string;
  editing: Editing;
}

/** The surroundings of an entity as a picture or a table, and beside them one entity or a source. */
export default function Explore({ shown, name, editing }: Props) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const { first, around, isPending, error, retry } = useSurroundings(name, shown.most, shown.more);
  const expanded = shown.more.join('\n');
  const parts = useMemo(
    () => (first ? grown(first, expanded === '' ? [] : expanded.split('\n'), around, EXPANSION) : []),
    [first, around, expanded],
  );
  const go = (change: Partial<Shown>, options?: { replace: boolean }) =>
    navigate(hrefOf({ ...shown, ...change }), options);
  if (!first) {
    if (isPending && error === undefined) return <Skeleton lines={12} />;
    return <ProblemState error={error} onRetry={retry} />;
  }
  const center = centerOf(first, name);
  if (center === undefined) {
    return (
      <div>
        <DoneNote editing={editing} />
        <State
          icon={<QuestionIcon size={20} />}
          title={t('missingTitle', { name })}
          actions={
            <Button look="main" onClick={() => navigate('')}>
              {t('toStart')}
            </Button>
          }
        >
          {t('missingBody')}
        </State>
      </div>
    );
  }
  const { total } = first;
  return <Surroundings {...{ shown, center, parts, total, isPending, error, retry, editing, go }} />;
}

/** The name of the entity in the middle; the address may have an older one that leads to it. */
function centerOf({ entities }: Part, name: string): string | undefined {
  return (entities.find(entity => entity.name === name) ?? entities[0])?.name;
}

interface SurroundingsProps {
  shown: Shown;
  center: string;
  parts: Part[];
  /** How many entities the whole graph has. */
  total: number;
  isPending: boolean;
  error: unknown;
  retry: () => void;
  editing: Editing;
  go: (change: Partial<Shown>, options?: { replace: boolean }) => void;
}

function Surroundings({
  shown,
  center,
  parts,
  total,
  isPending,
  error,
  retry,
  editing,
  go,
}: SurroundingsProps) {
  const t = useTexts(texts);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [passage, setPassage] = useState<Passage>();
  const [canDraw, setCanDraw] = useState(true);
  const whole = useMemo(() => together(parts), [parts]);
  const kinds = useMemo(() => kindsOf(parts), [parts]);
  const colours = useMemo(() => new Map(kinds.map(({ kind, colour }) => [kind, colour])), [kinds]);
  const part = useMemo(() => without(whole, hidden), [whole, hidden]);
  const open = shown.open ?? center;
  const isTable = shown.isTable || !canDraw;
  const select = (name: string | undefined) => {
    setPassage(undefined);
    if (name !== undefined) go({ open: name, edits: false }, { replace: true });
    else if (shown.open !== undefined || shown.edits)
      go({ open: undefined, edits: false }, { replace: true });
  };
  const expand = (name: string) => go({ more: [...shown.more, name], open: name, edits: false });
  return (
    <div
      className={styles.layout}
      data-pane
      data-chosen={shown.open !== undefined || shown.edits || undefined}
    >
      <div className={styles.main}>
        <Bar {...{ shown, isTable, canDraw, go }} />
        <div className={styles.facts}>
          <Showing part={part} total={total} />
          {shown.more.length > 0 && (
            <Button look="quiet" onClick={() => go({ more: shown.more.slice(0, -1) })}>
              {t('collapse')}
            </Button>
          )}
          <Kinds kinds={kinds} hidden={hidden} onChange={setHidden} />
        </div>
        <DoneNote editing={editing} />
        {!canDraw && (
          <div className={styles.done}>
            <Note tone="warn">{t('cannotDraw')}</Note>
          </div>
        )}
        {error !== undefined && (
          <div className={styles.done}>
            <Note tone="bad">
              <div className={styles.doneLine}>
                <span className={styles.grow}>{faultOf(error)}</span>
                <Button onClick={retry}>{t('retry')}</Button>
              </div>
            </Note>
          </div>
        )}
        <div className={styles.stage} aria-busy={isPending}>
          {part.entities.length === 0 ? (
            <State
              title={t('allHidden')}
              actions={<Button onClick={() => setHidden(new Set())}>{t('showAll')}</Button>}
            />
          ) : isTable ? (
            <GraphTable part={part} colours={colours} open={open} onOpen={select} onExpand={expand} />
          ) : (
            <Suspense fallback={<Skeleton lines={12} />}>
              <GraphCanvas
                parts={parts}
                shown={part}
                kinds={colours}
                center={center}
                selected={shown.open}
                onSelect={select}
                onExpand={expand}
                onFailure={() => setCanDraw(false)}
              />
            </Suspense>
          )}
        </div>
        <button type="button" className={styles.chosen} onClick={() => go({ open })}>
          <span className={styles.grow} dir="auto">
            {open}
          </span>
          <span className={styles.quiet}>{t('details')}</span>
        </button>
      </div>
      <aside className={styles.pane}>
        {passage ? (
          <SourcePane
            passage={passage}
            onClose={() => select(undefined)}
            onBack={() => setPassage(undefined)}
          />
        ) : shown.edits ? (
          <EditsPane editing={editing} onClose={() => select(undefined)} />
        ) : (
          <EntityPane
            key={open}
            name={open}
            isCenter={open === center}
            whole={whole}
            editing={editing}
            onOpen={select}
            onSource={setPassage}
            onExpand={() => expand(open)}
            onCenter={() => go({ entity: open, more: [], open: undefined })}
            onMerge={() => go({ entity: open, more: [], open: undefined, merge: '' })}
            onRenamed={name =>
              go(
                { entity: open === center ? name : shown.entity, open: open === center ? undefined : name },
                { replace: true },
              )
            }
            onClose={() => select(undefined)}
          />
        )}
      </aside>
    </div>
  );
}

function Bar({
  shown,
  isTable,
  canDraw,
  go,
}: {
  shown: Shown;
  isTable: boolean;
  canDraw: boolean;
  go: SurroundingsProps['go'];
}) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  return (
    <div className={styles.bar}>
      <Button look="quiet" label={t('backToStart')} onClick={() => navigate('')}>
        <BackIcon />
      </Button>
      <h1 className="visually-hidden">{t('title')}</h1>
      <SearchBox
        label={t('search')}
        onChoose={entity => navigate(hrefOf({ entity, isTable: shown.isTable }))}
      />
      <Menu
        button={
          <Button look="quiet" title={t('most')}>
            {t('mostChoice', { count: shown.most })}
            <ChevronIcon />
          </Button>
        }
      >
        <MenuChoice
          label={t('most')}
          value={String(shown.most)}
          onChange={most => go({ most: Number(most) })}
          options={BUDGETS.map(count => ({ value: String(count), text: t('mostChoice', { count }) }))}
        />
      </Menu>
      <Switch
        label={t('view')}
        items={[false, true].map(table => ({
          name: t(table ? 'asTable' : 'asGraph'),
          isOn: isTable === table,
          isDisabled: !table && !canDraw,
          onChoose: () => go({ isTable: table }, { replace: true }),
        }))}
      />
      <button type="button" className={buttonClass('quiet')} onClick={() => go({ edits: true })}>
        {t('edits')}
      </button>
    </div>
  );
}

/** How much of the graph is in sight. */
function Showing({ part, total }: { part: Part; total: number }) {
  const t = useTexts(texts);
  const shown = part.entities.length;
  return (
    <p className={styles.showing} title={t('showingWhy')} role="status">
      <strong>{t('showing', { shown, total })}</strong>
      <span>{t('relationsShown', { count: part.relations.length })}</span>
    </p>
  );
}

function Kinds({
  kinds,
  hidden,
  onChange,
}: {
  kinds: Kind[];
  hidden: ReadonlySet<string>;
  onChange: (hidden: ReadonlySet<string>) => void;
}) {
  const t = useTexts(texts);
  return (
    <ul className={styles.kinds} aria-label={t('kinds')}>
      {kinds.map(({ kind, count, colour }) => {
        const isHidden = hidden.has(kind);
        const name = kind === '' ? t('noKind') : kind;
        return (
          <li key={kind}>
            <button
              type="button"
              className={styles.kind}
              aria-pressed={!isHidden}
              title={t(isHidden ? 'showKind' : 'hideKind', { kind: name })}
              onClick={() => {
                const next = new Set(hidden);
                if (!next.delete(kind)) next.add(kind);
                onChange(next);
              }}
            >
              <span className={styles.dot} data-colour={colour} />
              {name}
              <span className={styles.quiet}>{count}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Note, State } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Passage, SourcePane } from '../source/source-pane';
import { DeriveAction } from './derive-action';
import styles from './layer-page.module.css';
import texts from './texts';
import type { LayerName } from './use-layers';

interface NoLayerProps {
  layer: LayerName;
  icon: ReactNode;
  title: string;
  children: ReactNode;
}

/** What stands where a layer was not derived yet. */
export function NoLayer({ layer, icon, title, children }: NoLayerProps) {
  return (
    <State icon={icon} title={title} actions={<DeriveAction layer={layer} />}>
      {children}
      <code className={styles.command}>graphloom derive {layer}</code>
    </State>
  );
}

interface Level {
  level: number;
  label: string;
  /** How many nodes it has. */
  count: number;
}

interface Row {
  id: string;
  title: string;
  summary: string;
  details: string;
}

interface Props {
  layer: LayerName;
  title: string;
  lead: string;
  /** Said when the layer is older than the graph. */
  old: string;
  /** Said when the level has no rows. */
  none: string;
  isCurrent: boolean;
  levels: Level[];
  level: number;
  rows: Row[];
  /** Whether the rows are still those of another level. */
  isReading: boolean;
  /** The node whose pane is open. */
  id: string | undefined;
  hrefOf: (level: number, id?: string) => string;
  pane: (id: string, onSource: (passage: Passage) => void) => ReactNode;
}

/** The nodes of a layer, level by level; one of them is open in a pane beside the list. */
export function LayerPage(props: Props) {
  const { layer, title, lead, old, none, isCurrent, levels, level, rows, isReading, id, hrefOf, pane } =
    props;
  const t = useTexts(texts);
  const [source, setSource] = useState<Passage>();
  const closeSource = () => setSource(undefined);
  return (
    <div className={styles.layout} data-pane={id !== undefined || undefined}>
      <div className={styles.list}>
        <header className={styles.head}>
          <Link href="/" className={styles.up}>
            {t('title')}
          </Link>
          <h1 className={styles.display}>{title}</h1>
          <p className={styles.lead}>{lead}</p>
        </header>
        {!isCurrent && (
          <Note tone="warn">
            {old} <DeriveAction layer={layer} />
          </Note>
        )}
        <nav aria-label={t('levels')} className={styles.levels}>
          {levels.map(one => (
            <Link
              key={one.level}
              href={hrefOf(one.level, id)}
              className={styles.level}
              aria-current={one.level === level ? 'true' : undefined}
            >
              {one.label}
              <span className={styles.count}>{one.count}</span>
            </Link>
          ))}
        </nav>
        <ul className={styles.rows} aria-busy={isReading}>
          {rows.map(row => (
            <li key={row.id}>
              <Link
                href={hrefOf(level, row.id)}
                className={styles.row}
                aria-current={row.id === id ? 'true' : undefined}
              >
                <span className={styles.rowTitle} dir="auto">
                  {row.title}
                </span>
                <span className={styles.rowText} dir="auto">
                  {row.summary}
                </span>
                <span className={styles.quiet}>{row.details}</span>
              </Link>
            </li>
          ))}
        </ul>
        {rows.length === 0 && <p className={styles.quiet}>{none}</p>}
      </div>
      {id !== undefined && (
        <aside className={styles.pane}>
          {source ? (
            <SourcePane passage={source} onBack={closeSource} onClose={closeSource} />
          ) : (
            pane(id, setSource)
          )}
        </aside>
      )}
    </div>
  );
}

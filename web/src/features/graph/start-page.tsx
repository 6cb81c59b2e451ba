import { Link, useLocation } from 'wouter';
import { address } from '../../api/client';
import { buttonClass } from '../../design/button';
import { WhyIcon } from '../../design/icons';
import { ProblemState, Skeleton, State } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Shown, hrefOf } from './address';
import { DoneNote } from './done-note';
import { EditsPane } from './edits-pane';
import styles from './graph.module.css';
import { SearchBox } from './search-box';
import texts from './texts';
import { type Editing, usePopular, useTotal } from './use-graph';
import { useTreeLevels } from './use-tree';

/** Before an entity is chosen: the search, and the entities with the most relations. */
export function StartPage({ shown, editing }: { shown: Shown; editing: Editing }) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const popular = usePopular();
  if (popular.isError && !popular.data)
    return <ProblemState error={popular.error} onRetry={() => void popular.refetch()} />;
  if (!popular.data) return <Skeleton lines={12} />;
  return (
    <div className={styles.layout} data-pane={shown.edits || undefined}>
      <div className={styles.startScroll}>
        <DoneNote editing={editing} />
        {popular.data.length === 0 ? (
          <State
            icon={<WhyIcon size={20} />}
            title={t('emptyTitle')}
            actions={
              <Link href={`~${address.ui}/documents`} className={buttonClass('main')}>
                {t('toDocuments')}
              </Link>
            }
          >
            {t('emptyBody')}
          </State>
        ) : (
          <div className={styles.start}>
            <header>
              <h1 className={styles.display}>{t('title')}</h1>
              <p className={styles.lead}>{t('lead')}</p>
            </header>
            <SearchBox label={t('search')} onChoose={entity => navigate(hrefOf({ entity }))} isFirst />
            <section>
              <h2 className={styles.quietTitle}>{t('popular')}</h2>
              <ul className={styles.chips}>
                {popular.data.map(entity => (
                  <li key={entity}>
                    <Link href={hrefOf({ entity })} className={styles.chip} dir="auto">
                      {entity}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
            <div className={styles.startFoot}>
              <Total />
              <Link href="/communities" className={styles.textLink}>
                {t('communities')}
              </Link>
              <TreeLink />
              <Link href={hrefOf({ to: '' })} className={styles.textLink}>
                {t('path')}
              </Link>
              {!shown.edits && (
                <Link href={hrefOf({ edits: true })} className={styles.textLink}>
                  {t('editsTitle')}
                </Link>
              )}
            </div>
          </div>
        )}
      </div>
      {shown.edits && (
        <aside className={styles.pane}>
          <EditsPane editing={editing} onClose={() => navigate('')} />
        </aside>
      )}
    </div>
  );
}

/** Leads to the tree of summaries, where there is one. */
function TreeLink() {
  const t = useTexts(texts);
  const levels = useTreeLevels();
  if ((levels.data?.length ?? 0) === 0) return null;
  return (
    <Link href="/tree" className={styles.textLink}>
      {t('tree')}
    </Link>
  );
}

function Total() {
  const t = useTexts(texts);
  const total = useTotal();
  return <span>{total.data === undefined ? '' : t('entitiesInAll', { count: total.data })}</span>;
}

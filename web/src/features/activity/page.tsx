import { lazy } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { useTexts } from '../../i18n/text';
import styles from './activity.module.css';
import { QueuePage } from './queue-page';
import texts from './texts';

const CostPage = lazy(() => import('./cost-page'));

const TABS = [
  { path: '/', name: 'queue' },
  { path: '/cost', name: 'cost' },
] as const;

/** What the server does and has done in this workspace. */
export default function ActivityPage() {
  const t = useTexts(texts);
  const [location] = useLocation();
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1 className={styles.title}>{t('title')}</h1>
        <nav className={styles.tabs} aria-label={t('title')}>
          {TABS.map(({ path, name }) => (
            <Link
              key={path}
              href={path}
              className={styles.tab}
              aria-current={location === path ? 'page' : undefined}
            >
              {t(name)}
            </Link>
          ))}
        </nav>
      </header>
      <Switch>
        <Route path="/cost">
          <CostPage />
        </Route>
        <Route>
          <QueuePage />
        </Route>
      </Switch>
    </div>
  );
}

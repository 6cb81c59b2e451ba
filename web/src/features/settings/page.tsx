import { Suspense, lazy } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { AccessPage } from './access-page';
import { AppearancePage } from './appearance-page';
import { ModelsPage } from './models-page';
import styles from './settings.module.css';
import texts from './texts';
import { WorkspacesPage } from './workspaces-page';

const ConnectPage = lazy(() => import('../connect/page'));

const SECTIONS = [
  { path: '/', name: 'workspaces' },
  { path: '/models', name: 'models' },
  { path: '/access', name: 'access' },
  { path: '/connect', name: 'connect' },
  { path: '/appearance', name: 'appearance' },
] as const;

/** What the server and this browser are set to, and how programs connect. */
export default function SettingsPage() {
  const t = useTexts(texts);
  const [location] = useLocation();
  const current = SECTIONS.findLast(
    ({ path }) => path === '/' || location === path || location.startsWith(`${path}/`),
  );
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1 className={styles.title}>{t('title')}</h1>
        <nav className={styles.tabs} aria-label={t('title')}>
          {SECTIONS.map(({ path, name }) => (
            <Link
              key={path}
              href={path}
              className={styles.tab}
              aria-current={path === current?.path ? 'page' : undefined}
            >
              {t(name)}
            </Link>
          ))}
        </nav>
      </header>
      <div className={styles.body}>
        <Suspense fallback={<Skeleton />}>
          <Switch>
            <Route path="/models">
              <ModelsPage />
            </Route>
            <Route path="/access">
              <AccessPage />
            </Route>
            <Route path="/connect" nest>
              <ConnectPage />
            </Route>
            <Route path="/appearance">
              <AppearancePage />
            </Route>
            <Route>
              <WorkspacesPage />
            </Route>
          </Switch>
        </Suspense>
      </div>
    </div>
  );
}

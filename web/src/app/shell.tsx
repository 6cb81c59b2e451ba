import { type ReactNode, Suspense, lazy, useEffect } from 'react';
import { Link, useLocation } from 'wouter';
import { address } from '../api/client';
import { credential, useCredential } from '../api/credential';
import { Button } from '../design/button';
import { Logo, PreferencesIcon } from '../design/icons';
import { Menu, MenuChoice, MenuItem, MenuLine } from '../design/menu';
import { Skeleton } from '../design/state';
import { Toasts } from '../design/toast';
import { Commands } from '../features/commands/commands';
import { AddingTray } from '../features/documents/adding-tray';
import { DropZone } from '../features/documents/drop-zone';
import { setPaid, useProposal } from '../features/documents/proposal';
import { LANGUAGES, type Language, setLanguage, useLanguage, useTexts } from '../i18n/text';
import { FEATURES } from './features';
import styles from './shell.module.css';
import texts from './texts';
import { setTheme, useTheme } from './theme';
import { useHealth, useRights } from './use-server';
import { WorkspaceMenu } from './workspace-menu';

const BatchDialog = lazy(() => import('../features/documents/batch-dialog'));

/** The frame of every page: navigation, workspace and preferences. */
export function Shell({ children }: { children: ReactNode }) {
  const t = useTexts(texts);
  const health = useHealth();
  const rights = useRights();
  const proposal = useProposal();
  const model = health.data?.configuration?.llm_model;
  useEffect(() => setPaid(model != null), [model]);
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main" onClick={focusMain}>
        {t('skip')}
      </a>
      <div className={styles.side}>
        <div className={styles.brand}>
          <Logo />
          <span className={styles.brandName}>Graphloom</span>
        </div>
        <WorkspaceMenu />
        <Navigation />
        <div className={styles.foot}>
          <Preferences />
        </div>
      </div>
      <main id="main" tabIndex={-1} className={styles.main}>
        {health.isError && (
          <div className={styles.banner} role="status">
            {t('offline')}
          </div>
        )}
        <div className={styles.page}>
          <Suspense fallback={<Skeleton />}>{children}</Suspense>
        </div>
      </main>
      <Commands />
      <Toasts />
      <AddingTray />
      {rights?.canWrite !== false && <DropZone />}
      {proposal && (
        <Suspense>
          <BatchDialog files={proposal} />
        </Suspense>
      )}
    </div>
  );
}

/** A link to `#main` would follow the page's base, so the focus is moved by hand. */
function focusMain(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Navigation() {
  const t = useTexts(texts);
  const [location] = useLocation();
  const current = FEATURES.findLast(
    ({ path }) => path === '/' || location === path || location.startsWith(`${path}/`),
  );
  useTitle(current ? t(current.name) : undefined);
  return (
    <nav className={styles.nav} aria-label={t('navigation')}>
      <ul>
        {FEATURES.map(({ path, name, Icon }) => (
          <li key={path}>
            <Link
              href={path}
              className={styles.link}
              aria-current={path === current?.path ? 'page' : undefined}
            >
              <Icon />
              {t(name)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function useTitle(page: string | undefined) {
  useEffect(() => {
    document.title = page === undefined ? 'Graphloom' : `${page} · Graphloom`;
  }, [page]);
}

function Preferences() {
  const t = useTexts(texts);
  const theme = useTheme();
  const language = useLanguage();
  const { shown } = useCredential();
  return (
    <Menu
      align="start"
      button={
        <Button look="quiet" className={styles.preferences}>
          <PreferencesIcon />
          <span className={styles.preferencesName}>{t('preferences')}</span>
        </Button>
      }
    >
      <MenuChoice
        label={t('theme')}
        value={theme}
        onChange={setTheme}
        options={[
          { value: 'system', text: t('themeSystem') },
          { value: 'light', text: t('themeLight') },
          { value: 'dark', text: t('themeDark') },
        ]}
      />
      <MenuLine />
      <MenuChoice
        label={t('language')}
        value={language}
        onChange={setLanguage}
        options={(Object.keys(LANGUAGES) as Language[]).map(value => ({ value, text: LANGUAGES[value] }))}
      />
      <MenuLine />
      <MenuItem onSelect={() => location.assign(new URL('docs', address.api))}>{t('apiReference')}</MenuItem>
      {shown && <MenuItem onSelect={credential.signOut}>{t('signOut')}</MenuItem>}
    </Menu>
  );
}

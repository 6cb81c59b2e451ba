import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { uiOf } from '../../api/address';
import { address } from '../../api/client';
import { credential, useCredential } from '../../api/credential';
import { FEATURES } from '../../app/features';
import appTexts from '../../app/texts';
import { setTheme } from '../../app/theme';
import { useHealth, useWorkspaces } from '../../app/use-server';
import { SearchIcon } from '../../design/icons';
import { LANGUAGES, type Language, setLanguage, useTexts } from '../../i18n/text';
import styles from './commands.module.css';
import { type Command, matching } from './match';
import { goKeys } from './places';
import texts from './texts';

interface Props {
  onClose: () => void;
  onHelp: () => void;
}

/** Finds a page, a workspace or a preference by typing. Part of the first load, so that no key after Ctrl-K is lost. */
export function Palette({ onClose, onHelp }: Props) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const found = matching(useCommands(onHelp), typed);
  const chosen = found[Math.min(at, found.length - 1)];
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen?.id]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    dialog.current?.close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && found.length > 0)
      setAt((Math.min(at, found.length - 1) + step + found.length) % found.length);
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing) run(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} className={styles.palette} aria-label={t('palette')} onClose={onClose}>
      <div className={styles.search}>
        <SearchIcon />
        <input
          className={styles.input}
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={chosen && `${list}-${chosen.id}`}
          aria-label={t('palette')}
          placeholder={t('placeholder')}
          value={typed}
          onChange={event => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <div id={list} role="listbox" aria-label={t('palette')} className={styles.list}>
        {found.map((command, index) => (
          // The keys of a listbox are those of its input.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={command.id}
            id={`${list}-${command.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={command === chosen}
            className={styles.option}
            onClick={() => run(command)}
            onPointerMove={() => setAt(index)}
          >
            <span className={styles.text}>{command.text}</span>
            {command.keys !== undefined && <kbd>{command.keys}</kbd>}
            <span className={styles.group}>{command.group}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p className={styles.none} role="status">
          {t('none', { typed })}
        </p>
      )}
    </dialog>
  );
}

function useCommands(onHelp: () => void): Command[] {
  const t = useTexts(texts);
  const app = useTexts(appTexts);
  const [, navigate] = useLocation();
  const workspaces = useWorkspaces();
  const health = useHealth();
  const { shown } = useCredential();
  const keys = new Map([...goKeys()].map(([key, path]) => [path, `G ${key.toUpperCase()}`]));
  const page = (path: string, text: string, words = ''): Command => {
    const shortcut = keys.get(path);
    return {
      id: `page-${path}`,
      text,
      group: t('pages'),
      words,
      run: () => navigate(path),
      ...(shortcut === undefined ? {} : { keys: shortcut }),
    };
  };
  const preference = (id: string, text: string, run: () => void): Command => ({
    id,
    text,
    group: t('preferences'),
    run,
  });
  return [
    ...FEATURES.map(({ path, name }) => page(path, app(name))),
    page('/activity/cost', t('cost'), 'price money tokens'),
    page('/settings/models', t('models'), 'llm embedding'),
    page('/settings/connect', t('connect'), 'mcp api curl python'),
    ...(workspaces.data ?? [])
      .filter(name => name !== (address.workspace ?? health.data?.configuration?.workspace))
      .map(name => ({
        id: `workspace-${name}`,
        text: name,
        group: t('workspaces'),
        run: () => location.assign(uiOf(address, name)),
      })),
    preference('theme-light', t('themeLight'), () => setTheme('light')),
    preference('theme-dark', t('themeDark'), () => setTheme('dark')),
    preference('theme-system', t('themeSystem'), () => setTheme('system')),
    ...(Object.keys(LANGUAGES) as Language[]).map(language =>
      preference(`language-${language}`, LANGUAGES[language], () => setLanguage(language)),
    ),
    { id: 'help', text: t('help'), group: t('general'), keys: '?', run: onHelp },
    {
      id: 'api',
      text: app('apiReference'),
      group: t('general'),
      run: () => location.assign(new URL('docs', address.api)),
    },
    ...(shown
      ? [{ id: 'sign-out', text: app('signOut'), group: t('general'), run: credential.signOut }]
      : []),
  ];
}

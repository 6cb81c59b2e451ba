import { FEATURES } from '../../app/features';
import appTexts from '../../app/texts';
import { Dialog } from '../../design/dialog';
import { useTexts } from '../../i18n/text';
import styles from './commands.module.css';
import { goKeys } from './places';
import { setSingleKeys, useSingleKeys } from './single-keys';
import texts from './texts';

/** The keys that do something. */
export default function Help({ onClose }: { onClose: () => void }) {
  const t = useTexts(texts);
  const app = useTexts(appTexts);
  const isSingle = useSingleKeys();
  const modifier = navigator.userAgent.includes('Mac') ? '⌘' : 'Ctrl';
  const pages = [...goKeys()].map(([key, path]): [string[], string] => {
    const name = FEATURES.find(feature => feature.path === path)?.name;
    return [['G', key.toUpperCase()], name === undefined ? path : app(name)];
  });
  const keys: [string[], string][] = [
    [[modifier, 'K'], t('palette')],
    ...(isSingle ? ([[['?'], t('help')], ...pages] as [string[], string][]) : []),
    [['Enter'], t('keySend')],
    [['Shift', 'Enter'], t('keyLine')],
    [['Esc'], t('keyClose')],
  ];
  return (
    <Dialog title={t('help')} onClose={onClose}>
      <dl className={styles.keys}>
        {keys.map(([names, text]) => (
          <div key={text}>
            <dt>{text}</dt>
            <dd dir="ltr">
              {names.map(name => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <label className={styles.choice}>
        <input type="checkbox" checked={isSingle} onChange={event => setSingleKeys(event.target.checked)} />
        {t('singleKeys')}
      </label>
    </Dialog>
  );
}

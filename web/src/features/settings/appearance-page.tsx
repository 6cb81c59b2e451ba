import { type Theme, setTheme, useTheme } from '../../app/theme';
import { LANGUAGES, type Language, setLanguage, useLanguage, useTexts } from '../../i18n/text';
import { setSingleKeys, useSingleKeys } from '../commands/single-keys';
import styles from './settings.module.css';
import texts from './texts';

const THEMES: [Theme, 'themeSystem' | 'themeLight' | 'themeDark'][] = [
  ['system', 'themeSystem'],
  ['light', 'themeLight'],
  ['dark', 'themeDark'],
];

/** How the UI looks in this browser. */
export function AppearancePage() {
  const t = useTexts(texts);
  const theme = useTheme();
  const language = useLanguage();
  const isSingle = useSingleKeys();
  return (
    <div className={styles.section}>
      <p className={styles.lead}>{t('appearanceLead')}</p>
      <fieldset className={styles.choices}>
        <legend>{t('theme')}</legend>
        {THEMES.map(([value, name]) => (
          <label key={value} className={styles.choice}>
            <input type="radio" name="theme" checked={theme === value} onChange={() => setTheme(value)} />
            <span className={styles.swatch} data-theme-shown={value} aria-hidden="true" />
            {t(name)}
          </label>
        ))}
      </fieldset>
      <fieldset className={styles.choices}>
        <legend>{t('uiLanguage')}</legend>
        {(Object.keys(LANGUAGES) as Language[]).map(value => (
          <label key={value} className={styles.choice} lang={value}>
            <input
              type="radio"
              name="language"
              checked={language === value}
              onChange={() => setLanguage(value)}
            />
            {LANGUAGES[value]}
          </label>
        ))}
      </fieldset>
      <fieldset className={styles.choices}>
        <legend>{t('keyboard')}</legend>
        <label className={styles.choice}>
          <input type="checkbox" checked={isSingle} onChange={event => setSingleKeys(event.target.checked)} />
          {t('singleKeys')}
        </label>
      </fieldset>
    </div>
  );
}

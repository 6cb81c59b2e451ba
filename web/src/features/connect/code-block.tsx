import { useState } from 'react';
import { Button } from '../../design/button';
import { CheckIcon, CopyIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import styles from './connect.module.css';
import texts from './texts';

/** How long a copy is confirmed, in milliseconds. */
const CONFIRM_MS = 2000;

/** A text to copy, under the name of its place. */
export function CodeBlock({ name, code }: { name: string; code: string }) {
  const t = useTexts(texts);
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(code).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), CONFIRM_MS);
    }, tellProblem);
  };
  return (
    <div className={styles.block}>
      <div className={styles.blockHead}>
        <span className={styles.blockName} dir="auto">
          {name}
        </span>
        <Button look="quiet" aria-label={t('copyNamed', { name })} onClick={copy}>
          {isCopied ? <CheckIcon /> : <CopyIcon />}
          <span aria-live="polite">{t(isCopied ? 'copied' : 'copy')}</span>
        </Button>
      </div>
      <Scroll label={name} className={styles.code}>
        <pre dir="ltr">
          <code>{code}</code>
        </pre>
      </Scroll>
    </div>
  );
}

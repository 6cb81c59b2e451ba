import type { Schemas } from '../../api/client';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import styles from './pane.module.css';
import texts from './texts';

interface Props {
  claims: Schemas['Claim'][];
  onSource: (passage: Passage) => void;
}

/** Dated statements, each with the sentences that state it and what ended it. */
export function ClaimsList({ claims, onSource }: Props) {
  const t = useTexts(texts);
  return (
    <ul className={styles.evidence}>
      {claims.map(claim => (
        <li key={claim.line}>
          <div className={styles.claim} data-retired={claim.retired != null || undefined}>
            <span dir="auto">{claim.line}</span>
            {claim.retired != null && <span className={styles.ended}>{t('claimEnded')}</span>}
          </div>
          {claim.quotes.map(quote => (
            <button
              key={`${quote.document} ${quote.span[0]}`}
              type="button"
              className={styles.quote}
              onClick={() => onSource(passageOf(quote))}
            >
              <span className={styles.quoteText} dir="auto">
                {quote.text}
              </span>
              <span className={styles.quoteSource}>{quote.file_path}</span>
            </button>
          ))}
        </li>
      ))}
    </ul>
  );
}

function passageOf({ document, file_path, span, text: quote }: Schemas['Claim']['quotes'][number]): Passage {
  return { document, file_path, span, quote };
}

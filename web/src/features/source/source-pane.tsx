import { Link } from 'wouter';
import { type Schemas, address } from '../../api/client';
import { problemOf } from '../../api/problem';
import { Button, buttonClass } from '../../design/button';
import { BackIcon, CloseIcon, CopyIcon, QuestionIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { ProblemState, Skeleton, State } from '../../design/state';
import { tell } from '../../design/toast';
import { type Translate, useTexts } from '../../i18n/text';
import { DocumentView } from './document-view';
import styles from './source.module.css';
import texts from './texts';
import { useDocument, useDocumentText } from './use-source';

/** A passage to open: what citations and retrieved passages have in common. */
export interface Passage {
  document: string;
  file_path: string;
  span: [number, number];
  quote?: string;
  lines?: [number, number];
  lines_match_source?: boolean;
  place?: string | null;
}

interface Props {
  passage: Passage;
  onClose: () => void;
  /** Leads back to what the pane showed before. */
  onBack?: (() => void) | undefined;
}

/** A document beside the conversation, open at a passage. */
export function SourcePane({ passage, onClose, onBack }: Props) {
  const t = useTexts(texts);
  const place = placeText(passage, t);
  return (
    <div className={styles.pane}>
      <div className={styles.head}>
        {onBack && (
          <Button look="quiet" label={t('back')} onClick={onBack}>
            <BackIcon />
          </Button>
        )}
        <div className={styles.headText}>
          <h2 className={styles.title}>{passage.file_path}</h2>
          {place !== '' && <div className={styles.place}>{place}</div>}
        </div>
        {passage.quote !== undefined && <CopyQuote quote={passage.quote} />}
        <Link href={`~${address.ui}${hrefOf(passage)}`} className={buttonClass('quiet')}>
          {t('openDocument')}
        </Link>
        <Button look="quiet" label={t('close')} onClick={onClose}>
          <CloseIcon />
        </Button>
      </div>
      <Scroll className={styles.body} label={t('source')}>
        <PassageText passage={passage} />
      </Scroll>
    </div>
  );
}

/** The address of the document, open at the passage. */
export function hrefOf({ document, span }: Passage): string {
  return `/documents/${encodeURIComponent(document)}?span=${span.join('-')}`;
}

/** Pages, or else lines of the source. */
function placeText(
  { place, lines, lines_match_source }: Passage,
  t: Translate<keyof typeof texts.en>,
): string {
  if (place != null) return place;
  if (!lines || lines_match_source !== true) return '';
  const [first, last] = lines;
  return first === last ? t('line', { lines: first }) : t('lines', { lines: `${first}–${last}` });
}

function CopyQuote({ quote }: { quote: string }) {
  const t = useTexts(texts);
  const copy = async () => {
    await navigator.clipboard.writeText(quote);
    tell(t('copied'));
  };
  return (
    <Button look="quiet" label={t('copyQuote')} onClick={() => void copy()}>
      <CopyIcon />
    </Button>
  );
}

function PassageText({ passage }: { passage: Pick<Schemas['CitationItem'], 'document' | 'span'> }) {
  const t = useTexts(texts);
  const document = useDocument(passage.document);
  const text = useDocumentText(passage.document);
  const error = document.error ?? text.error;
  if (error && problemOf(error).status === 404) {
    return (
      <State icon={<QuestionIcon size={20} />} title={t('goneTitle')}>
        {t('goneBody')}
      </State>
    );
  }
  if (error)
    return (
      <ProblemState error={error} onRetry={() => void Promise.all([document.refetch(), text.refetch()])} />
    );
  if (!document.data || !text.data) return <Skeleton lines={12} />;
  return <DocumentView document={document.data} bytes={text.data} span={passage.span} />;
}

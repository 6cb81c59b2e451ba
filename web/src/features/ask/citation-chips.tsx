import type { Schemas } from '../../api/client';
import { HoverCard } from '../../design/hover-card';
import { type Translate, useTexts } from '../../i18n/text';
import styles from './answer.module.css';
import { type Mark, placeOf } from './answer';
import texts from './texts';

interface Props {
  mark: Mark;
  /** The citation that is open beside the conversation. */
  opened: Schemas['CitationItem'] | undefined;
  onOpen: (citation: Schemas['CitationItem']) => void;
}

/** The numbers of a mark: each shows its passage on hover and opens it on click. */
export function CitationChips({ mark, opened, onOpen }: Props) {
  return (
    <span className={styles.chips}>
      {mark.numbers.map(({ number, citation }, index) =>
        citation ? (
          <HoverCard
            key={index}
            of={<Chip citation={citation} isOpen={citation === opened} onOpen={onOpen} />}
          >
            <Preview citation={citation} />
          </HoverCard>
        ) : (
          <span key={index} className={styles.chip}>
            {number}
          </span>
        ),
      )}
    </span>
  );
}

interface ChipProps extends React.ComponentProps<'button'> {
  citation: Schemas['CitationItem'];
  isOpen: boolean;
  onOpen: (citation: Schemas['CitationItem']) => void;
}

function Chip({ citation, isOpen, onOpen, onClick, ...rest }: ChipProps) {
  const t = useTexts(texts);
  const { number, file_path } = citation;
  return (
    <button
      {...rest}
      type="button"
      className={styles.chip}
      aria-label={t('source', { number, name: file_path })}
      aria-pressed={isOpen}
      onClick={event => {
        onClick?.(event);
        onOpen(citation);
      }}
    >
      {number}
    </button>
  );
}

/** Where a citation stands, for people. */
export function placeText(citation: Schemas['CitationItem'], t: Translate<keyof typeof texts.en>): string {
  const place = placeOf(citation);
  return place === '' || citation.place != null ? place : t('line', { lines: place });
}

function Preview({ citation }: { citation: Schemas['CitationItem'] }) {
  const t = useTexts(texts);
  return (
    <>
      <div className={styles.cardHead}>
        <span className={styles.sourceName}>{citation.file_path}</span>
        <span>{placeText(citation, t)}</span>
      </div>
      <blockquote className={styles.cardQuote} dir="auto">
        {citation.quote}
      </blockquote>
    </>
  );
}

import { memo, useMemo } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../../api/client';
import { Button, buttonClass } from '../../design/button';
import { CopyIcon, QuestionIcon, RetryIcon, WarningIcon, WhyIcon } from '../../design/icons';
import { Note } from '../../design/state';
import { tell } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import { Markdown } from '../../markdown/markdown';
import { type Answer, citedDocuments, kindOf, marksOf, withReferences } from './answer';
import styles from './answer.module.css';
import { CitationChips, placeText } from './citation-chips';
import { retry } from './conversation';
import texts from './texts';

interface Props {
  answer: Answer;
  opened: Schemas['CitationItem'] | undefined;
  onOpen: (citation: Schemas['CitationItem']) => void;
  /** Shows how the answer came about; nothing does if it is left out. */
  onWhy?: ((answer: Answer) => void) | undefined;
}

/** A question and its answer, in whatever state it is. */
export const AnswerView = memo(function AnswerView(props: Props) {
  const { answer, onWhy } = props;
  const { phase } = answer;
  const isOpen = phase === 'searching' || phase === 'writing';
  return (
    <article className={styles.exchange} aria-busy={isOpen}>
      <h2 className={styles.question} dir="auto">
        {answer.question.text}
      </h2>
      <AnswerBody {...props} />
      {!isOpen && <Foot answer={answer} onWhy={onWhy} />}
    </article>
  );
});

/** An answer without its question. */
export function AnswerBody({ answer, opened, onOpen, onWhy }: Props) {
  const t = useTexts(texts);
  const { phase, text, problem, done } = answer;
  const kind = kindOf(answer);
  return (
    <>
      {kind === 'closest' && (
        <p className={styles.weak}>
          <WarningIcon />
          {t('closest')}
        </p>
      )}
      {kind === 'not_found' || kind === 'empty' ? (
        <NotFound answer={answer} onWhy={onWhy} />
      ) : (
        text !== '' && <AnswerText answer={answer} opened={opened} onOpen={onOpen} />
      )}
      {(phase === 'searching' || phase === 'writing') && <Progress answer={answer} />}
      {phase === 'failed' && problem && (
        <Note tone="bad" icon={<WarningIcon />}>
          {problem.isForbidden ? t('noAccess') : t('failed')} {problem.message} {problem.remedy}
        </Note>
      )}
      {phase === 'stopped' && <Note>{t('stopped')}</Note>}
      {phase === 'removed' && <Note>{t('removed')}</Note>}
      {done?.kept?.problem != null && (
        <Note tone="warn" icon={<WarningIcon />}>
          {t('notKept')} {done.kept.problem}
        </Note>
      )}
      <Sources answer={answer} onOpen={onOpen} />
    </>
  );
}

function AnswerText({ answer, opened, onOpen }: Pick<Props, 'answer' | 'opened' | 'onOpen'>) {
  const marks = useMemo(() => marksOf(answer), [answer]);
  return (
    <Markdown
      hasLines
      source={answer.text}
      ranges={marks}
      show={(mark, text, isFirst) =>
        isFirst ? <CitationChips mark={mark} opened={opened} onOpen={onOpen} /> : text
      }
    />
  );
}

function Progress({ answer: { phase, context, text } }: { answer: Answer }) {
  const t = useTexts(texts);
  // The growing text shows the progress itself.
  const words =
    phase === 'searching'
      ? t('searching')
      : text === '' && context
        ? t('reading', { count: context.chunks.length })
        : '';
  return (
    <div className={styles.status} role="status">
      <span className={styles.dot} />
      {words}
    </div>
  );
}

function NotFound({ answer, onWhy }: Pick<Props, 'answer' | 'onWhy'>) {
  const t = useTexts(texts);
  return (
    <div className={styles.none}>
      <h3 className={styles.noneTitle}>
        <QuestionIcon size={20} />
        {t('notFoundTitle')}
      </h3>
      <p dir="auto">{answer.text}</p>
      <div className={styles.noneActions}>
        {kindOf(answer) === 'not_found' && onWhy && (
          <Button onClick={() => onWhy(answer)}>{t('notFoundLook')}</Button>
        )}
        <Link href="/documents" className={buttonClass('plain')}>
          {t('addDocuments')}
        </Link>
      </div>
    </div>
  );
}

/** The cited documents, each opening its first passage. */
function Sources({ answer, onOpen }: Pick<Props, 'answer' | 'onOpen'>) {
  const t = useTexts(texts);
  const cited = citedDocuments(answer);
  if (cited.length === 0) return null;
  return (
    <ul className={styles.sources} aria-label={t('sources')}>
      {cited.map(citation => (
        <li key={citation.number}>
          <button type="button" className={styles.sourceRow} onClick={() => onOpen(citation)}>
            <span className={styles.sourceNumber}>{citation.number}</span>
            <span className={styles.sourceName}>{citation.file_path}</span>
            <span className={styles.sourcePlace}>{placeText(citation, t)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Foot({ answer, onWhy }: Pick<Props, 'answer' | 'onWhy'>) {
  const t = useTexts(texts);
  const { phase, done, text } = answer;
  const copy = async () => {
    await navigator.clipboard.writeText(withReferences(answer));
    tell(t('copied'));
  };
  const isAnswer =
    done &&
    done.answer_kind !== 'not_found' &&
    done.answer_kind !== 'empty' &&
    done.answer_kind !== 'greeting';
  return (
    <div className={styles.foot}>
      {text !== '' && (
        <Button look="quiet" label={t('copy')} onClick={() => void copy()}>
          <CopyIcon />
        </Button>
      )}
      <Button look="quiet" label={t('again')} onClick={() => retry(answer)}>
        <RetryIcon />
      </Button>
      {phase === 'done' && onWhy && (
        <Button look="quiet" onClick={() => onWhy(answer)}>
          <WhyIcon />
          {t('why')}
        </Button>
      )}
      {done && (
        <span className={styles.facts}>
          {isAnswer && `${t(done.llm_generated ? 'byLlm' : 'withoutLlm')} · `}
          {t('answered', { seconds: Math.round(done.response_time * 10) / 10 })}
        </span>
      )}
    </div>
  );
}

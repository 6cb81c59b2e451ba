import { useEffect, useRef } from 'react';
import type { Schemas } from '../../api/client';
import { Scroll } from '../../design/scroll';
import { useTexts } from '../../i18n/text';
import type { Answer } from './answer';
import { AnswerView } from './answer-view';
import styles from './ask.module.css';
import texts from './texts';

export { SourcePane } from '../source/source-pane';
export { WhyPane } from './why-pane';

interface AnswersProps {
  answers: Answer[];
  opened: Schemas['CitationItem'] | undefined;
  onOpen: (citation: Schemas['CitationItem']) => void;
  onWhy: (answer: Answer) => void;
}

/** The answers of a conversation. */
export function Answers({ answers, ...rest }: AnswersProps) {
  const t = useTexts(texts);
  const box = useRef<HTMLDivElement>(null);
  const last = answers.at(-1);
  // A new question comes to the top, so that its answer has the whole height to grow.
  useEffect(() => {
    box.current?.querySelector('article:last-of-type')?.scrollIntoView({ block: 'start' });
  }, [last?.id]);
  return (
    <Scroll ref={box} className={styles.scroll} role="log" label={t('title')}>
      <div className={styles.column}>
        {answers.map(answer => (
          <AnswerView key={answer.id} answer={answer} {...rest} />
        ))}
      </div>
    </Scroll>
  );
}

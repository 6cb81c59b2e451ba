import { Link, useLocation } from 'wouter';
import { Button } from '../../design/button';
import { CloseIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import { hrefOf } from './address';
import { communityHref } from './communities-page';
import styles from './communities.module.css';
import { Section } from './entity-pane';
import graph from './graph.module.css';
import pane from './pane.module.css';
import { Quotes } from './quotes';
import texts from './texts';
import { type Report, useReport } from './use-communities';

interface Props {
  id: string;
  onSource: (passage: Passage) => void;
}

/** The report about a community; the sentences behind each finding open in their documents. */
export function ReportPane({ id, onSource }: Props) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const report = useReport(id);
  const { data } = report;
  return (
    <div className={pane.pane}>
      <div className={pane.head}>
        <div className={pane.grow}>
          <h2 className={pane.title} dir="auto">
            {data?.title ?? t('communities')}
          </h2>
          {data && (
            <div className={pane.quiet}>
              {t('communitySize', { count: data.entities, relations: data.relations })}
              {' · '}
              {data.by === 'rules' ? t('writtenByRules') : t('writtenBy', { author: data.by })}
            </div>
          )}
        </div>
        <Button look="quiet" label={t('close')} onClick={() => navigate(communityHref(data?.level ?? 0))}>
          <CloseIcon />
        </Button>
      </div>
      <Scroll className={pane.body} label={data?.title ?? t('communities')}>
        {report.isError ? (
          <ProblemState error={report.error} onRetry={() => void report.refetch()} />
        ) : !data ? (
          <Skeleton lines={10} />
        ) : (
          <Sections report={data} onSource={onSource} />
        )}
      </Scroll>
    </div>
  );
}

function Sections({ report, onSource }: { report: Report; onSource: Props['onSource'] }) {
  const t = useTexts(texts);
  const { level, parent, parts, members } = report;
  return (
    <>
      {parent && (
        <Link href={communityHref(level - 1, parent.id)} className={styles.up} dir="auto">
          {t('partOf', { title: parent.title })}
        </Link>
      )}
      <p className={pane.text} dir="auto">
        {report.summary}
      </p>
      <Section title={t('ratingTitle')}>
        <div className={styles.rating}>
          <meter
            min={0}
            max={10}
            value={report.rating}
            aria-label={t('rating', { rating: Math.round(report.rating * 10) / 10 })}
          />
          <span dir="auto">{report.rating_reason}</span>
        </div>
      </Section>
      <Section title={t('findings', { count: report.findings.length })}>
        <ol className={styles.findings}>
          {report.findings.map((finding, at) => (
            <li key={at} className={styles.finding}>
              <h4 className={styles.findingTitle} dir="auto">
                {finding.summary}
              </h4>
              {/* Without an LLM, the explanation is the sentence that is quoted below it. */}
              {!['', ...finding.references.map(({ quote }) => quote)].includes(finding.explanation) && (
                <p className={pane.text} dir="auto">
                  {finding.explanation}
                </p>
              )}
              <Quotes quotes={finding.references} onSource={onSource} />
            </li>
          ))}
        </ol>
        {report.dropped_references > 0 && (
          <p className={pane.quiet}>{t('droppedReferences', { count: report.dropped_references })}</p>
        )}
      </Section>
      {parts.length > 0 && (
        <Section title={t('parts', { count: parts.length })}>
          <ul className={styles.parts}>
            {parts.map(({ id, title }) => (
              <li key={id}>
                <Link href={communityHref(level + 1, id)} className={styles.part} dir="auto">
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {members.length > 0 && (
        <Section title={t('members', { count: members.length })}>
          <ul className={graph.chips}>
            {members.map(member => (
              <li key={member}>
                <Link href={`/${hrefOf({ entity: member })}`} className={graph.chip} dir="auto">
                  {member}
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

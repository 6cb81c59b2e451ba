import { Link, useLocation } from 'wouter';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import { hrefOf } from './address';
import { communityHref } from './address';
import graph from './graph.module.css';
import { Above, Parts } from './layer-links';
import { Pane, Section } from './pane';
import pane from './pane.module.css';
import { Quotes } from './quotes';
import styles from './report.module.css';
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
    <Pane
      title={data?.title ?? t('communities')}
      details={
        data && (
          <>
            {t('communitySize', { count: data.entities, relations: data.relations })}
            {' · '}
            {data.by === 'rules' ? t('writtenByRules') : t('writtenBy', { author: data.by })}
          </>
        )
      }
      reading={report}
      onClose={() => navigate(communityHref(data?.level ?? 0))}
    >
      {found => <Sections report={found} onSource={onSource} />}
    </Pane>
  );
}

function Sections({ report, onSource }: { report: Report; onSource: Props['onSource'] }) {
  const t = useTexts(texts);
  const { level, parent, parts, members } = report;
  return (
    <>
      {parent && <Above href={communityHref(level - 1, parent.id)} title={parent.title} />}
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
      <Parts
        title={t('parts', { count: parts.length })}
        parts={parts}
        hrefOf={part => communityHref(level + 1, part)}
      />
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

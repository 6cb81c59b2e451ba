import { address } from '../../api/client';
import { credential, useCredential } from '../../api/credential';
import { useAuthStatus, useHealth } from '../../app/use-server';
import { Button, buttonClass } from '../../design/button';
import { WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { CodeBlock } from '../connect/code-block';
import { durationOf } from '../activity/pace';
import { ManageAccess } from './manage-access';
import styles from './settings.module.css';
import texts from './texts';
import { useCaller } from './use-settings';

const RIGHTS = { read: 'rightRead', write: 'rightWrite', admin: 'rightAdmin' } as const;

/** Who the user is to the server, and how its administrator lets others in. */
export function AccessPage() {
  const t = useTexts(texts);
  const language = useLanguage();
  const caller = useCaller();
  const status = useAuthStatus();
  const health = useHealth();
  const { shown } = useCredential();
  if (caller.isError && !caller.data) {
    return <ProblemState error={caller.error} onRetry={() => void caller.refetch()} />;
  }
  if (!caller.data || !status.data) return <Skeleton lines={8} />;
  const { name, right, workspaces } = caller.data;
  const isOpen = name === 'local';
  const facts: [string, string][] = [
    [t('you'), isOpen ? t('anyone') : name],
    [t('right'), t(right in RIGHTS ? RIGHTS[right as keyof typeof RIGHTS] : 'rightRead')],
    [t('forWorkspaces'), workspaces == null ? t('allWorkspaces') : workspaces.join(', ')],
    [
      t('signIn'),
      isOpen ? t('signInNone') : t(status.data.auth_mode === 'enabled' ? 'signInUsers' : 'signInKeys'),
    ],
    [t('release'), status.data.core_version],
    ...(health.data?.uptime_s == null
      ? []
      : [[t('uptime'), durationOf(health.data.uptime_s, language)] as [string, string]]),
  ];
  return (
    <div className={styles.section}>
      {isOpen && <Note icon={<WarningIcon />}>{t('openNote')}</Note>}
      <dl className={styles.facts}>
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ))}
      </dl>
      {shown && (
        <div>
          <Button onClick={credential.signOut}>{t('signOut')}</Button>
        </div>
      )}
      {right === 'admin' && workspaces == null && <ManageAccess caller={name} />}
      <h2 className={styles.sectionTitle}>{t('manageTitle')}</h2>
      <p className={styles.lead}>{t('manageLead')}</p>
      <CodeBlock name={t('addKeyCommand')} code="graphloom key create NAME --right read --only WORKSPACE" />
      <CodeBlock name={t('addUserCommand')} code="graphloom user add NAME --right write" />
      <CodeBlock name={t('listAll')} code={'graphloom key list\ngraphloom user list'} />
      <CodeBlock name={t('takeBack')} code={'graphloom key revoke NAME\ngraphloom user remove NAME'} />
      <div>
        <a className={buttonClass()} href={new URL('docs', address.api).href}>
          {t('apiReference')}
        </a>
      </div>
    </div>
  );
}

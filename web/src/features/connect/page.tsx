import { Link, useLocation } from 'wouter';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { LockIcon } from '../../design/icons';
import { useTexts } from '../../i18n/text';
import { CodeBlock } from './code-block';
import styles from './connect.module.css';
import {
  CLIENTS,
  type Client,
  DATA_PLACEHOLDER,
  KEY_PLACEHOLDER,
  type Snippet,
  snippetsOf,
} from './snippets';
import texts from './texts';
import { useConnection } from './use-connection';

/** The names of the programs, the same in every language. */
const NAMES: Record<Client, string> = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  'open-webui': 'Open WebUI',
  langchain: 'LangChain',
  python: 'Python',
  curl: 'curl',
};

/** How to set up other programs to use this workspace. */
export default function ConnectPage() {
  const t = useTexts(texts);
  const [location] = useLocation();
  const client = CLIENTS.find(name => location === `/${name}`) ?? 'claude-code';
  const { connection, error, retry } = useConnection();
  if (error !== null) return <ProblemState error={error} onRetry={retry} />;
  if (!connection) return <Skeleton lines={8} />;
  const snippets = snippetsOf(client, connection);
  const values = snippets.filter(({ kind }) => kind === 'value');
  return (
    <div className={styles.page}>
      <nav className={styles.clients} aria-label={t('programs')}>
        {CLIENTS.map(name => (
          <Link
            key={name}
            href={`/${name}`}
            className={styles.client}
            aria-current={name === client ? 'page' : undefined}
          >
            {NAMES[name]}
          </Link>
        ))}
      </nav>
      <div className={styles.steps}>
        <div>
          <h2 className={styles.title}>{NAMES[client]}</h2>
          <p className={styles.lead}>{t(`lead_${client}`)}</p>
        </div>
        {connection.key !== undefined && client !== 'claude-desktop' && (
          <>
            <Note icon={<LockIcon />}>{t('keyNote', { placeholder: KEY_PLACEHOLDER })}</Note>
            <CodeBlock
              name={t('createKey')}
              code={`graphloom key create NAME --right read --only ${connection.workspace}`}
            />
          </>
        )}
        {client === 'claude-desktop' && <Note>{t('dataNote', { placeholder: DATA_PLACEHOLDER })}</Note>}
        {values.length > 0
          ? values.map(snippet => (
              <CodeBlock key={snippet.place} name={snippet.place ?? ''} code={snippet.code} />
            ))
          : snippets.map(snippet => (
              <Step
                key={snippet.code}
                client={client}
                snippet={snippet}
                isOnly={snippets.length === 1}
                snippets={snippets}
              />
            ))}
        <p className={styles.lead}>{t(`after_${client}`)}</p>
      </div>
    </div>
  );
}

/** A text to copy, and where there are several, what it is for. */
function Step({
  client,
  snippet,
  isOnly,
  snippets,
}: {
  client: Client;
  snippet: Snippet;
  isOnly: boolean;
  snippets: Snippet[];
}) {
  const t = useTexts(texts);
  const name = snippet.place ?? t(snippet.kind === 'python' ? 'python' : 'terminal');
  const isLater = snippets.indexOf(snippet) > 0;
  return (
    <>
      {!isOnly && isLater && client !== 'langchain' && (
        <p className={styles.lead}>{t(client === 'curl' ? 'thenUpload' : 'orFile')}</p>
      )}
      <CodeBlock name={name} code={snippet.code} />
    </>
  );
}

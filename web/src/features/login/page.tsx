import { type SubmitEvent, useState } from 'react';
import { useAuthStatus } from '../../app/use-server';
import type { Credential } from '../../api/credential';
import { Button } from '../../design/button';
import { Field, inputClass } from '../../design/field';
import { Logo, WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import styles from './login.module.css';
import texts from './texts';
import { useLogin } from './use-login';

/** Asks for a name and password or an API key, as the server accepts them. */
export function LoginPage({ onAccepted }: { onAccepted: (credential: Credential) => void }) {
  const status = useAuthStatus();
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        {status.isPending && <Skeleton lines={4} />}
        {status.isError && <ProblemState error={status.error} onRetry={() => void status.refetch()} />}
        {status.isSuccess && (
          <LoginForm hasUsers={status.data.auth_configured === true} onAccepted={onAccepted} />
        )}
      </div>
    </main>
  );
}

function LoginForm({
  hasUsers,
  onAccepted,
}: {
  hasUsers: boolean;
  onAccepted: (credential: Credential) => void;
}) {
  const t = useTexts(texts);
  const [way, setWay] = useState<'password' | 'key'>(hasUsers ? 'password' : 'key');
  const [name, setName] = useState('');
  const [secret, setSecret] = useState('');
  const login = useLogin(onAccepted);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    login.mutate(way === 'key' ? { key: secret } : { name, password: secret });
  };
  return (
    <>
      <div className={styles.head}>
        <Logo size={32} />
        <h1 className={styles.title}>{t('title')}</h1>
        <p className={styles.lead}>{t('lead')}</p>
      </div>
      <form className={styles.form} onSubmit={submit}>
        {way === 'password' && (
          <Field label={t('name')}>
            {ids => (
              <input
                {...ids}
                className={inputClass}
                autoComplete="username"
                autoCapitalize="none"
                required
                value={name}
                onChange={event => setName(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field
          label={t(way === 'key' ? 'key' : 'password')}
          {...(way === 'key' ? { hint: t('keyHint') } : {})}
        >
          {ids => (
            <input
              {...ids}
              className={inputClass}
              type="password"
              autoComplete={way === 'key' ? 'off' : 'current-password'}
              required
              value={secret}
              onChange={event => setSecret(event.target.value)}
            />
          )}
        </Field>
        {login.isError && (
          <Note tone="bad" icon={<WarningIcon />}>
            {login.error.isUnauthenticated && way === 'key' ? t('wrongKey') : login.error.message}
          </Note>
        )}
        <Button type="submit" look="main" disabled={login.isPending}>
          {t(login.isPending ? 'submitting' : 'submit')}
        </Button>
        {hasUsers && (
          <Button
            look="quiet"
            onClick={() => {
              setWay(way === 'key' ? 'password' : 'key');
              setSecret('');
              login.reset();
            }}
          >
            {t(way === 'key' ? 'usePassword' : 'useKey')}
          </Button>
        )}
      </form>
    </>
  );
}

import { useQueryClient } from '@tanstack/react-query';
import { Link, Route, Switch } from 'wouter';
import { credential, useCredential } from '../api/credential';
import { buttonClass } from '../design/button';
import { QuestionIcon } from '../design/icons';
import { State } from '../design/state';
import { clear as clearConversation } from '../features/ask/conversation';
import { LoginPage } from '../features/login/page';
import { useTexts } from '../i18n/text';
import { CrashBoundary } from './crash';
import { FEATURES } from './features';
import { Shell } from './shell';
import texts from './texts';

/** The UI: the login where the server asks for one, else the page of the address in its frame. */
export function App() {
  const { access } = useCredential();
  const queries = useQueryClient();
  if (access === 'refused') {
    return (
      <LoginPage
        onAccepted={accepted => {
          // What was read with another credential, or refused without one, says nothing about this one.
          queries.clear();
          clearConversation();
          credential.accept(accepted);
        }}
      />
    );
  }
  return (
    <Shell>
      <CrashBoundary>
        <Switch>
          {FEATURES.map(({ path, route, Page }) => (
            <Route key={path} path={route ?? path} nest={route === undefined}>
              <Page />
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </CrashBoundary>
    </Shell>
  );
}

function NotFound() {
  const t = useTexts(texts);
  return (
    <State
      icon={<QuestionIcon size={20} />}
      title={t('notFoundTitle')}
      actions={
        <Link href="/" className={buttonClass('main')}>
          {t('toAsk')}
        </Link>
      }
    >
      {t('notFoundBody')}
    </State>
  );
}

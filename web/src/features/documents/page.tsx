import { lazy } from 'react';
import { Route, Switch } from 'wouter';
import { ListPage } from './list-page';

// The page of a document brings what renders its text, which the table does without.
const DocumentPage = lazy(() => import('./document-page'));

/** The documents of the workspace: the table, and below it one page for each. */
export default function DocumentsPage() {
  return (
    <Switch>
      <Route path="/:id">{({ id }) => <DocumentPage key={id} id={decodeURIComponent(id)} />}</Route>
      <Route>
        <ListPage />
      </Route>
    </Switch>
  );
}

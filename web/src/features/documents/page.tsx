import { Route, Switch } from 'wouter';
import { DocumentPage } from './document-page';
import { ListPage } from './list-page';

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

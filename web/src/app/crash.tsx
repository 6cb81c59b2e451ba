import { Component, type ReactNode } from 'react';
import { Button } from '../design/button';
import { State } from '../design/state';
import { useTexts } from '../i18n/text';
import texts from './texts';

/** Keeps the frame usable when a page fails. */
export class CrashBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <Crashed /> : this.props.children;
  }
}

function Crashed() {
  const t = useTexts(texts);
  return (
    <State title={t('crashTitle')} actions={<Button onClick={() => location.reload()}>⟳</Button>}>
      {t('crashBody')}
    </State>
  );
}

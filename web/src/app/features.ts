import { type ComponentType, lazy } from 'react';
import { ActivityIcon, AskIcon, DocumentsIcon, SettingsIcon, WhyIcon } from '../design/icons';
import { ASK_PATHS } from '../features/ask/address';
import AskPage from '../features/ask/page';
import type texts from './texts';

/** A page of the UI with an entry in the navigation. */
export interface Feature {
  /** Its path and, below that, everything the page routes itself. */
  path: string;
  /** The paths of the page, where they are not all below `path`. */
  route?: RegExp;
  /** Its name: a key of the texts of `app`. */
  name: keyof typeof texts.en;
  Icon: ComponentType<{ size?: number }>;
  Page: ComponentType;
}

/** The pages, in the order of the navigation. To add one, add a folder to `features/` and a row here. */
export const FEATURES: Feature[] = [
  // The first screen is part of the first load; every other page is loaded when it is opened.
  { path: '/', route: ASK_PATHS, name: 'ask', Icon: AskIcon, Page: AskPage },
  {
    path: '/documents',
    name: 'documents',
    Icon: DocumentsIcon,
    Page: lazy(() => import('../features/documents/page')),
  },
  { path: '/graph', name: 'graph', Icon: WhyIcon, Page: lazy(() => import('../features/graph/page')) },
  {
    path: '/activity',
    name: 'activity',
    Icon: ActivityIcon,
    Page: lazy(() => import('../features/activity/page')),
  },
  {
    path: '/settings',
    name: 'settings',
    Icon: SettingsIcon,
    Page: lazy(() => import('../features/settings/page')),
  },
];

import './design/tokens.css';
import './design/base.css';

import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { address } from './api/client';
import { problemOf } from './api/problem';
import { App } from './app/app';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Only what may pass is tried again: a lost connection, a busy or failing server.
      retry: (count, error) => count < 2 && [0, 429, 500, 502, 503, 504].includes(problemOf(error).status),
      staleTime: 5000,
    },
  },
});

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={address.ui}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  );
}

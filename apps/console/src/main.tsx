// The console: pages that watch and steer a team of agents, over the public HTTP API alone.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem } from './data/api.ts'
import { applyTheme, readTheme } from './data/session.ts'
import { router } from './routes.tsx'
import './style.css'

// Before the first paint, so that the page does not flash in the other theme.
applyTheme(readTheme())

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Data becomes stale when something changed, not when time has passed.
      staleTime: Infinity,
      refetchOnWindowFocus: false,
      // A refusal is final; no answer may be a restart of the gateway.
      retry: (failures, error) => (!(error instanceof ApiProblem) || error.status === 0) && failures < 3,
    },
  },
})

const place = document.querySelector('#root')
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )

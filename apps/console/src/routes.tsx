// The pages and their addresses. What a list shows is in its address, so that a link shows the same list.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { readLibrarySearch } from './library/library-search.ts'
import { readMemorySearch } from './memory/search.ts'
import { readTaskSearch } from './pages/task-search.ts'
import { readStartSearch } from './start/start-search.ts'
import { readTaskPage } from './task/selection.ts'
import { readFailureSearch, readUsageSearch } from './system/search.ts'
import { NoPage, Shell } from './shell.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NoPage })

const tasksRoute = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: readTaskSearch,
  component: lazyRouteComponent(() => import('./pages/tasks.tsx'), 'Tasks'),
})

const taskRoute = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId',
  validateSearch: readTaskPage,
  component: lazyRouteComponent(() => import('./task/page.tsx'), 'Task'),
})

/** The short address of one event. */
const eventRoute = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId/events/$taskseq',
  beforeLoad({ params: { taskId, taskseq } }) {
    // The router wants it so.
    // oxlint-disable-next-line typescript/only-throw-error
    throw redirect({
      to: '/tasks/$taskId',
      params: { taskId },
      search: readTaskPage({ view: 'events', event: taskseq }),
      replace: true,
    })
  },
})

const inboxRoute = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  // The entry to which a link leads.
  validateSearch: ({ at }): { readonly at?: string } => (typeof at === 'string' ? { at } : {}),
  component: lazyRouteComponent(() => import('./inbox/page.tsx'), 'Inbox'),
})

const startRoute = createRoute({
  getParentRoute: () => root,
  path: '/start',
  validateSearch: readStartSearch,
  component: lazyRouteComponent(() => import('./start/page.tsx'), 'Start'),
})

const libraryRoute = createRoute({
  getParentRoute: () => root,
  path: '/library',
  validateSearch: readLibrarySearch,
  component: lazyRouteComponent(() => import('./library/page.tsx'), 'Library'),
})

const sessionsRoute = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./pages/sessions.tsx'), 'Sessions'),
})

const sessionRoute = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$sessionId',
  component: lazyRouteComponent(() => import('./pages/session.tsx'), 'Session'),
})

const systemRoute = createRoute({
  getParentRoute: () => root,
  path: '/system',
  component: lazyRouteComponent(() => import('./system/page.tsx'), 'SystemNow'),
})

const usageRoute = createRoute({
  getParentRoute: () => root,
  path: '/system/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('./system/usage.tsx'), 'Usage'),
})

const failuresRoute = createRoute({
  getParentRoute: () => root,
  path: '/system/failures',
  validateSearch: readFailureSearch,
  component: lazyRouteComponent(() => import('./system/failures.tsx'), 'Failures'),
})

const memoryRoute = createRoute({
  getParentRoute: () => root,
  path: '/memory',
  validateSearch: readMemorySearch,
  component: lazyRouteComponent(() => import('./memory/page.tsx'), 'Memory'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    tasksRoute,
    taskRoute,
    eventRoute,
    inboxRoute,
    startRoute,
    libraryRoute,
    sessionsRoute,
    sessionRoute,
    memoryRoute,
    systemRoute,
    usageRoute,
    failuresRoute,
  ]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

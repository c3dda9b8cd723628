// Where the API has what. Pure.
import type { QueryName } from '@beaver/contracts'

/** Where each query is asked. A field in braces is in the path; the others are in the query string, a list as
 * several fields of one name. */
export const queryPaths = {
  tasks: '/api/v1/tasks',
  task_count: '/api/v1/tasks/count',
  task: '/api/v1/tasks/{task_id}',
  timeline: '/api/v1/tasks/{task_id}/timeline',
  events: '/api/v1/tasks/{task_id}/events',
  node: '/api/v1/tasks/{task_id}/nodes/{node_id}',
  run: '/api/v1/tasks/{task_id}/runs/{run_id}',
  graph: '/api/v1/tasks/{task_id}/graph',
  prompt: '/api/v1/tasks/{task_id}/runs/{run_id}/prompt',
  spans: '/api/v1/tasks/{task_id}/spans',
  audit: '/api/v1/tasks/{task_id}/audit',
  inbox: '/api/v1/inbox',
  sessions: '/api/v1/sessions',
  session: '/api/v1/sessions/{session_id}',
  search: '/api/v1/search',
  usage: '/api/v1/usage',
  failures: '/api/v1/failures',
} as const satisfies Partial<Record<QueryName, string>>
/** Fills the braces of a path, and puts the other fields that have a value into the query string. */
export function pathOf(template: string, input: Readonly<Record<string, unknown>>): string {
  const inPath = new Set<string>()
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    return encodeURIComponent(textOf(input[name]))
  })
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input))
    if (!inPath.has(name) && value !== undefined && value !== '')
      for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
        query.append(name, textOf(each))
  return query.size === 0 ? path : `${path}?${query}`
}

const textOf = (value: unknown): string => String(value)

// The result of a task. If its evidence says that its figures stand in results of tools, each figure leads to the
// result in which it stands.
import type { QueryOutput } from '@beaver/contracts'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { ApiProblem, ask } from '../data/api.ts'
import { Json } from '../parts/json.tsx'
import { jsonIn } from '../parts/json-shape.ts'
import { Figures, Markdown } from '../parts/lazy-markdown.tsx'
import type { TaskPageSearch } from './selection.ts'

type Checks = NonNullable<QueryOutput<'task'>['evidence']>

export interface ReportProps {
  readonly taskId: string
  readonly text: string
  /** The verdicts on the text and on the answers of agents. */
  readonly checks: Checks
  readonly show: (change: TaskPageSearch) => void
}

const isOfFigures = ({ requirement, status }: Checks[number]): boolean =>
  status === 'passed' &&
  typeof requirement === 'object' &&
  requirement !== null &&
  'kind' in requirement &&
  requirement['kind'] === 'numbers_from_tools'

export function Report({ taskId, text, checks, show }: ReportProps): ReactNode {
  const client = useQueryClient()
  const [said, setSaid] = useState<string | null>(null)
  const sources = useMemo(
    () => [...new Set(checks.filter(isOfFigures).flatMap((check) => check.rests_on))],
    [checks],
  )
  const open = useCallback(
    async (shown: string) => {
      try {
        // It reads figures in many notations, so it is loaded when somebody asks.
        const { figureStands } = await import('@beaver/evidence/report')
        for (const taskseq of sources) {
          const { events } = await client.fetchQuery({
            queryKey: ['event', taskId, taskseq],
            queryFn: ({ signal }) => ask('events', { task_id: taskId, after: taskseq - 1, limit: 1 }, signal),
          })
          const [event] = events
          // A redacted event has no data.
          const { content } = (event?.data ?? {}) as { readonly content?: unknown }
          if (event?.type !== 'tool_result_recorded' || typeof content !== 'string') continue
          if (figureStands(shown, { report: text, result: content }))
            return show({ event: taskseq, figure: shown })
        }
        setSaid(
          `No result has ${shown} as it is written here. The evidence has the results on which the figures rest.`,
        )
      } catch (error) {
        setSaid(error instanceof ApiProblem ? error.message : 'The page has a fault. Load it again.')
      }
    },
    [client, sources, taskId, show, text],
  )
  const figure = useCallback(
    (shown: string) => (
      <button
        type="button"
        className="link"
        title="Go to the result in which it stands"
        onClick={() => void open(shown)}
      >
        {shown}
      </button>
    ),
    [open],
  )
  return (
    <>
      {jsonIn(text) === undefined ? (
        <Markdown text={text} {...(sources.length === 0 ? {} : { figure })} />
      ) : (
        <Json
          value={text}
          {...(sources.length === 0
            ? {}
            : { leaf: (part: string) => <Figures text={part} figure={figure} /> })}
        />
      )}
      {said === null ? null : (
        <p className="quiet" role="status">
          {said}
        </p>
      )}
    </>
  )
}

// `beaver search`: finds words in the transcripts of all tasks.
import type { SearchAnswer } from '@beaver/contracts'
import type { GlobalOptions } from '../context.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import type { Connection } from '../connection.ts'
import { ask, asking } from './query.ts'

type Hit = SearchAnswer['hits'][number]

export function search(
  words: readonly string[],
  { json, limit = 20, session }: { readonly session?: string; readonly limit?: number; readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const answer = await searched(connection, { query: words.join(' '), limit, session_id: session })
    if (json === true) return screen.json(answer)
    if (answer.hits.length === 0) return screen.print(`No text contains ${words.map((word) => JSON.stringify(word)).join(' and ')}.`)
    const { style, columns } = screen
    screen.print(
      ...table<Hit>(
        [
          { title: 'TASK', cell: (hit) => hit.task_id },
          { title: '#', cell: (hit) => String(hit.taskseq), align: 'right', optional: 1, paint: style.dim },
          {
            title: 'WHO',
            cell: (hit) => oneLine(hit.role === 'tool' ? (hit.name ?? 'tool') : hit.role === 'user' ? 'user' : (hit.agent_name ?? hit.role)).slice(0, 24),
            optional: 2,
            paint: style.cyan,
          },
          { title: 'TEXT', cell: (hit) => oneLine(hit.snippet), flexible: true },
        ],
        answer.hits,
        { width: columns, title: style.dim },
      ),
    )
    if (answer.more) screen.print(style.dim('There are more hits. Show them with --limit 100.'))
  })
}

/** Asks until there are enough hits or no texts are left, because one answer covers a limited number of texts. */
async function searched(connection: Connection, input: { query: string; limit: number; session_id: string | undefined }): Promise<SearchAnswer> {
  const hits: Hit[] = []
  for (let before: number | undefined; ;) {
    const answer = await ask(connection, 'search', { ...input, limit: input.limit - hits.length, before })
    hits.push(...answer.hits)
    if (!answer.more || answer.next === null || hits.length >= input.limit) return { ...answer, hits }
    before = answer.next
  }
}

// `beaver search`: finds words in the transcripts of all tasks.
import type { SearchAnswer } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import { oneLine } from '../text/plain-text.ts'
import { briefIds } from '../text/brief-ids.ts'
import { table } from '../text/table.ts'
import { around } from '../text/width.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { ask, asking } from './query.ts'
import { sessionIdOf } from './session.ts'
import { mustSpan } from './since-when.ts'

type Hit = SearchAnswer['hits'][number]

export function search(
  words: readonly string[],
  {
    json,
    limit = 20,
    session: typed,
    since,
    until,
    before,
  }: {
    readonly session?: string
    readonly since?: string
    readonly until?: string
    readonly limit?: number
    readonly before?: number
    readonly json?: true
  },
  globals: GlobalOptions,
): Promise<number> {
  mustSpan({ since, until })
  return asking(globals, async ({ screen }, connection) => {
    const session = await sessionIdOf(connection, typed)
    const answer = await searched(connection, {
      query: words.join(' '),
      limit,
      session_id: session,
      since,
      until,
      before,
    })
    if (json === true) return screen.json(answer)
    if (answer.hits.length === 0)
      return screen.print(`No text contains ${words.map((word) => JSON.stringify(word)).join(' and ')}.`)
    const { style, columns } = screen
    const brief = briefIds(answer.hits.map((hit) => hit.task_id))
    screen.print(
      ...table<Hit>(
        [
          { title: 'TASK', cell: (hit) => hit.task_id, brief: (hit) => brief(hit.task_id) },
          { title: '#', cell: (hit) => String(hit.taskseq), align: 'right', optional: 1, paint: style.dim },
          {
            title: 'WHO',
            cell: (hit) => oneLine(whoOf(hit)).slice(0, 24),
            optional: 2,
            paint: style.cyan,
          },
          {
            title: 'TEXT',
            cell: (hit) => oneLine(hit.snippet),
            fit: (hit, width) => around(oneLine(hit.snippet), words, width),
            flexible: true,
            least: 40,
          },
        ],
        answer.hits,
        { width: columns, title: style.dim },
      ),
    )
    if (answer.more && answer.next !== null)
      screen.print(style.dim(moreLine(words, { limit, session, since, until }, answer.next)))
  })
}

/** The source of a text: the tool, the user, the agent, or what failed. */
function whoOf({ role, name, agent_name: agent }: Hit): string {
  if (role === 'tool') return name ?? role
  if (role === 'failure') return `${name ?? agent ?? 'task'} failed`
  return role === 'user' ? role : (agent ?? role)
}

interface MoreHits {
  readonly limit: number
  readonly session: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
}

/** A sentence with the command for the next page. */
function moreLine(
  words: readonly string[],
  { limit, session, since, until }: MoreHits,
  before: number,
): string {
  const options = [
    ...(session === undefined ? [] : ['--session', shellWord(session)]),
    ...(since === undefined ? [] : ['--since', since]),
    ...(until === undefined ? [] : ['--until', until]),
    '--limit',
    limit,
    '--before',
    before,
  ]
  return `There are more hits. Show the next: ${commandName()} search ${words.map(shellWord).join(' ')} ${options.join(' ')}`
}

/** The largest number of hits in one answer. */
const pageHitsMax = 100

/**
 * Asks until there are enough hits or no texts are left, because one answer covers a limited number of texts.
 */
async function searched(
  connection: Answers,
  input: {
    readonly query: string
    readonly limit: number
    readonly session_id: string | undefined
    readonly since: string | undefined
    readonly until: string | undefined
    readonly before: number | undefined
  },
): Promise<SearchAnswer> {
  const hits: Hit[] = []
  for (let { before } = input; ;) {
    const answer = await ask(connection, 'search', {
      ...input,
      limit: Math.min(pageHitsMax, input.limit - hits.length),
      before,
    })
    hits.push(...answer.hits)
    if (!answer.more || answer.next === null || hits.length >= input.limit) return { ...answer, hits }
    before = answer.next
  }
}

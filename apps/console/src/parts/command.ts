// What the console shows or does, as a command for a terminal: of `beaver`, and of `curl` with the token in
// $TOKEN. Names are those of strangers, so each word is quoted for a POSIX shell. Pure.
import type { QueryOutput } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import { pathOf, queryPaths } from '../data/paths.ts'
import { filterOf, type TaskSearch, timeOf } from '../pages/task-search.ts'

/** The same in a terminal. */
export interface Command {
  /** `null`: the command line has nothing like it. */
  readonly beaver: string | null
  readonly curl: string
}

/** The path of a request, and what is posted. Absent: nothing is posted. */
interface Asked {
  readonly path: string
  readonly body?: object
}

type Options = readonly (readonly [name: string, value: string | null])[]

/** `origin`: where the gateway is, such as `http://127.0.0.1:20000`. */
export type CommandAt = (origin: string) => Command

const commandOf =
  (beaver: string | null, { path, body }: Asked): CommandAt =>
  (origin) => ({
    beaver,
    curl: [
      'curl -sS -H "Authorization: Bearer $TOKEN"',
      ...(body === undefined
        ? []
        : [`-H 'Content-Type: application/json' -d ${shellWord(JSON.stringify(body))}`]),
      shellWord(`${origin}${path}`),
    ].join(' '),
  })

/**
 * A command of `beaver`. A word that begins with a dash would be an option, so such words come behind `--`, and
 * such values behind `=`.
 */
export function beaverLine(name: string, words: readonly string[], options: Options = []): string {
  const given = options.map(([option, value]) =>
    value === null ? option : `${option}${value.startsWith('-') ? '=' : ' '}${shellWord(value)}`,
  )
  const quoted = words.map(shellWord)
  const parts = words.some((word) => word.startsWith('-'))
    ? [...given, '--', ...quoted]
    : [...quoted, ...given]
  return ['beaver', name, ...parts].join(' ')
}

/**
 * A task, or the selected node of a team in it.
 *
 * @param selected the key of the selected part, as in the address; `null`: the task as a whole
 */
export function taskCommand(taskId: string, selected: string | null): CommandAt {
  const [, team, node] = /^node:([^/]+)\/(.+)$/s.exec(selected ?? '') ?? []
  if (node === undefined || team === undefined)
    return commandOf(beaverLine('show', [taskId]), { path: pathOf(queryPaths.task, { task_id: taskId }) })
  const options = [
    ['--node', node],
    ['--team', team],
  ] as const
  return commandOf(beaverLine('show', [taskId], options), {
    path: pathOf(queryPaths.node, { task_id: taskId, node_id: node, team_run_id: team }),
  })
}

export const eventCommand = (taskId: string, taskseq: number): CommandAt =>
  commandOf(
    beaverLine(
      'events',
      [taskId],
      [
        ['--after', String(taskseq - 1)],
        ['--limit', '1'],
        ['--json', null],
      ],
    ),
    { path: pathOf(queryPaths.events, { task_id: taskId, after: taskseq - 1, limit: 1 }) },
  )

export const sessionCommand = (sessionId: string): CommandAt =>
  commandOf(beaverLine('session', [sessionId]), {
    path: pathOf(queryPaths.session, { session_id: sessionId }),
  })

const taskOptions = {
  status: '--status',
  text: '--text',
  workflow: '--workflow',
  skill: '--skill',
  profile: '--profile',
  model: '--model',
  user: '--user',
  session: '--session',
  since: '--since',
  until: '--until',
  failure: '--failure',
  pattern: '--failure-pattern',
  cost: '--cost-min',
  tokens: '--tokens-min',
} as const satisfies Readonly<Record<keyof TaskSearch, string>>

/**
 * The list of tasks with its filters.
 *
 * @param now what relative times are relative to, in milliseconds
 * @returns `null` if a filter cannot be read
 */
export function tasksCommand(search: TaskSearch, now: number): CommandAt | null {
  const read = filterOf(search, now)
  if ('field' in read) return null
  const fields = Object.keys(taskOptions) as (keyof TaskSearch)[]
  const options = fields.flatMap((field): Options => {
    const value = search[field]
    if (value === undefined) return []
    return [[taskOptions[field], field === 'since' || field === 'until' ? timeWord(value, now) : value]]
  })
  return commandOf(beaverLine('tasks', [], options), { path: pathOf(queryPaths.tasks, read.filter) })
}

/** A time for the command line: a span stays a span, and a day of the reader's zone becomes a time. */
const timeWord = (text: string, now: number): string =>
  /^\d{1,5}[hd]$/.test(text) ? text : (timeOf(text, now) ?? text)

type Entry = QueryOutput<'inbox'>['entries'][number]

/** Two runs may use the same id for a call. */
export const callName = ({
  run_id,
  call_id,
}: {
  readonly run_id: string | null
  readonly call_id: string
}): string => (run_id === null ? call_id : `${run_id}/${call_id}`)

/** What settles an entry of the inbox: allows the call, answers the question, or gives more. */
export function entryCommand(entry: Entry): CommandAt {
  const taskId = entry.task_id
  const at = (verb: string): string => pathOf(`/api/v1/tasks/{task_id}/${verb}`, { task_id: taskId })
  switch (entry.kind) {
    case 'approval': {
      const { call } = entry
      const hash = call.call_hash === null ? {} : { call_hash: call.call_hash }
      return commandOf(beaverLine('approve', [taskId, callName(call)]), {
        path: at('approve'),
        body: { call_id: callName(call), ...hash },
      })
    }
    case 'question': {
      const { question } = entry
      const call_id = callName(question)
      return commandOf(beaverLine('answer', [taskId], [['--call', call_id]]), {
        path: at('answer'),
        body: {
          call_id,
          question_index: question.question_index,
          answer: { action: 'accept', answers: ['…'] },
        },
      })
    }
    case 'budget':
      return budgetCommand(entry, at('raise'))
    default:
      return entry satisfies never
  }
}

function budgetCommand({ task_id, budget }: Extract<Entry, { kind: 'budget' }>, path: string): CommandAt {
  const { of, name, per } = budget.budget
  const more = suggestedMore(budget.needed, budget.limit)
  const amount: Options[number] =
    budget.measure === 'wall_ms'
      ? ['--wall', `${Math.ceil(more / 1_000)}s`]
      : [`--${budget.measure.replaceAll('_', '-')}`, String(more)]
  const body = { more: { [budget.measure]: more } }
  if (!budget.shared) {
    const node = budget.node_id
    return commandOf(
      beaverLine('budget raise', [task_id], [...(node === null ? [] : [['--node', node] as const]), amount]),
      { path, body: { ...body, ...(node === null ? {} : { node_id: node }) } },
    )
  }
  return commandOf(beaverLine('budget raise', [], [[`--${of}`, name ?? null], ['--per', per], amount]), {
    path: '/api/v1/budgets/raise',
    body: { ...body, of, per, ...(name === undefined ? {} : { name }) },
  })
}

/** Twice what is needed, rounded up to one digit, or as much as there was. */
export function suggestedMore(needed: number, limit: number): number {
  const wanted = needed > 0 ? needed * 2 : limit
  const size = 10 ** Math.floor(Math.log10(wanted > 0 ? wanted : 1))
  return Number((Math.ceil(wanted / size) * size).toPrecision(3))
}

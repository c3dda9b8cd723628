// Each command is read by a shell, as if a person had pasted it.
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { filterFields, type TaskSearch } from '../pages/task-search.ts'
import {
  beaverLine,
  type CommandAt,
  entryCommand,
  eventCommand,
  sessionCommand,
  suggestedMore,
  taskCommand,
  tasksCommand,
} from './command.ts'

/** The words that the shell gives to the command. */
function wordsOf(command: string): string[] {
  const script = `beaver() { printf '%s\\0' "$@"; }; curl() { printf '%s\\0' "$@"; }; TOKEN=secret; ${command}`
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
}
const beaver = (at: CommandAt | null): string[] => wordsOf(at?.('http://127.0.0.1:20000').beaver ?? '')
const curl = (at: CommandAt | null): string[] => wordsOf(at?.('http://127.0.0.1:20000').curl ?? '')

const hostile = `it's "$(id)" \`id\` \n; & | > * ~ ! {a,b} \\`
const asked = { task_id: hostile, asked_at: '', session_id: '', tenant: '', title: null, text: null }

describe('a command', () => {
  it('of a task has its id as one word, whatever is in it', () =>
    expect(beaver(taskCommand(hostile, null))).toEqual(['show', hostile]))

  it('of a node names its team', () =>
    expect(beaver(taskCommand('t', "node:team_1/a'b"))).toEqual([
      'show',
      't',
      '--node',
      "a'b",
      '--team',
      'team_1',
    ]))

  it('of a name that begins with a dash keeps it from being an option', () => {
    expect(beaver(sessionCommand('--help'))).toEqual(['session', '--', '--help'])
    expect(wordsOf(beaverLine('show', ['-x'], [['--node', '-n']]))).toEqual(['show', '--node=-n', '--', '-x'])
  })

  it('of an event prints this one alone', () =>
    expect(beaver(eventCommand('t', 42))).toEqual(['events', 't', '--after', '41', '--limit', '1', '--json']))

  it('of an approval names the run and the call, and the request says what exactly is allowed', () => {
    const call = { run_id: 'run_1', call_id: hostile, call_hash: 'abc' }
    const at = entryCommand({ ...asked, kind: 'approval', call } as never)
    expect(beaver(at)).toEqual(['approve', hostile, `run_1/${hostile}`])
    expect(JSON.parse(curl(at)[6] ?? '')).toEqual({ call_id: `run_1/${hostile}`, call_hash: 'abc' })
  })

  it('of a budget gives as much as the page proposes', () => {
    const budget = {
      budget: { of: 'user', per: 'day', name: '-ann' },
      measure: 'usd',
      shared: true,
      needed: 0.3,
    }
    expect(beaver(entryCommand({ ...asked, kind: 'budget', budget } as never))).toEqual([
      ...['budget', 'raise', '--user=-ann', '--per', 'day', '--usd', '0.6'],
    ])
    const own = {
      budget: { of: 'task', per: 'run' },
      measure: 'wall_ms',
      shared: false,
      needed: 0,
      limit: 90_500,
    }
    expect(
      beaver(entryCommand({ ...asked, kind: 'budget', budget: { ...own, node_id: 'n' } } as never)),
    ).toEqual(['budget', 'raise', hostile, '--node', 'n', '--wall', '100s'])
  })
})

const now = Date.parse('2026-11-29T10:00:00Z')

describe('the command of a list', () => {
  it('has its filters, with times that the command line can read', () =>
    expect(
      beaver(
        tasksCommand({ status: 'failed', text: hostile, since: '2h', until: '30 min', cost: '0.5' }, now),
      ),
    ).toEqual([
      ...['tasks', '--status', 'failed', '--text', hostile, '--since', '2h'],
      ...['--until', '2026-11-29T09:30:00.000Z', '--cost-min', '0.5'],
    ]))
  it('is none if a filter cannot be read', () => expect(tasksCommand({ since: 'never' }, now)).toBeNull())
})

it('curl gets the token of the variable, and an address in which nothing is a pattern', () => {
  const words = curl(taskCommand('a/b[1-9]{x} ?#', null))
  expect(words.slice(0, 3)).toEqual(['-sS', '-H', 'Authorization: Bearer secret'])
  expect(words.at(-1)).toBe('http://127.0.0.1:20000/api/v1/tasks/a%2Fb%5B1-9%5D%7Bx%7D%20%3F%23')
})

it.each([
  [0.3, 1, 0.6],
  [0, 50, 50],
  [1_234, 1, 3_000],
])('for %s more of %s it proposes %s', (needed, limit, more) =>
  expect(suggestedMore(needed, limit)).toBe(more),
)

const filters = {
  status: 'waiting_for_person',
  text: '-v',
  workflow: '--help',
  skill: "it's",
  profile: 'a b',
  model: '$(id)',
  user: '-',
  session: '--',
  since: '2026-11-29',
  until: '2h',
  failure: 'timeout',
  pattern: 'It took <n> s.',
  cost: '0.5',
  tokens: '100',
} satisfies Required<TaskSearch>
const dashed = { task_id: '-t', asked_at: '', session_id: '', tenant: '', title: null, text: null }
const dashedCall = { run_id: '-r', call_id: '-c', call_hash: null, question_index: 0 }
const budgets = [
  ...['usd', 'tokens', 'model_calls', 'tool_calls', 'wall_ms'].map((measure) => ({
    ...{ measure, budget: { of: 'task', per: 'run' }, shared: false, node_id: '-n' },
  })),
  ...['user', 'session', 'profile', 'tenant'].map((of) => ({
    ...{ measure: 'usd', shared: true, node_id: null },
    budget: { of, per: 'day', ...(of === 'tenant' ? {} : { name: '-x' }) },
  })),
].map((budget) => ({ needed: 1, limit: 2, ...budget }))

const offered = [
  taskCommand('-t', null),
  taskCommand('--help', 'node:--team/-n'),
  eventCommand('-t', 3),
  sessionCommand('-s'),
  tasksCommand({}, now),
  ...filterFields.map((field) => tasksCommand({ [field]: filters[field] }, now)),
  tasksCommand(filters, now),
  ...[
    { ...dashed, kind: 'approval', call: dashedCall },
    { ...dashed, kind: 'question', question: dashedCall },
    ...budgets.map((budget) => ({ ...dashed, kind: 'budget', budget })),
  ].map((entry) => entryCommand(entry as never)),
].flatMap((command) => (command?.('http://127.0.0.1:20000').beaver ?? '').split(' && '))

it('the command line takes every command, also with names that look like options', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'beaver-commands-'))
  const host = fork(fileURLToPath(new URL('../../../cli/test/command-host.ts', import.meta.url)), {
    execArgv: [],
  })
  const exitOf = async (args: readonly string[]): Promise<unknown> => {
    host.send({ args, cwd, env: { PATH: process.env['PATH'], HOME: cwd } })
    return ((await once(host, 'message')) as [object])[0]
  }
  try {
    // 3: no system runs here. A name that is taken for an option would give 2, or 0 for a question for help.
    for (const line of offered)
      expect([line, await exitOf(wordsOf(line))]).toEqual([line, expect.objectContaining({ exit: 3 })])
    expect(await exitOf(['show', '-t'])).toMatchObject({ exit: 2 })
  } finally {
    host.disconnect()
    await once(host, 'exit')
    rmSync(cwd, { recursive: true })
  }
})

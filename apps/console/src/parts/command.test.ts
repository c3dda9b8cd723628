// Each command is read by a shell, as if a person had pasted it.
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
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

describe('the command of a list', () => {
  const now = Date.parse('2026-11-29T10:00:00Z')
  it('has its filters, with times that the command line can read', () =>
    expect(
      beaver(
        tasksCommand({ status: 'failed', text: hostile, since: '2h', until: '30 min', cost: '0.5' }, now),
      ),
    ).toEqual([
      ...['tasks', '--status', 'failed', '--text', hostile, '--since', '2h'],
      ...['--until', '2026-11-29T09:30:00.000Z', '--cost-min', '0.5'],
    ]))
  it('asks for both kinds of waiting for a person', () =>
    expect(tasksCommand({ status: 'waiting_for_person' }, now)?.('').beaver).toBe(
      'beaver tasks --status waiting_for_approval && beaver tasks --status waiting_for_answer',
    ))
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

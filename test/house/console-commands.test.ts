// The commands that the console offers to copy are commands of the CLI, with options that it has.
import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { parseCommandLine } from '../../apps/cli/src/run-command-line.ts'
import {
  entryCommand,
  eventCommand,
  sessionCommand,
  taskCommand,
  tasksCommand,
} from '../../apps/console/src/parts/command.ts'
import { filterFields, type TaskSearch } from '../../apps/console/src/pages/task-search.ts'

const now = Date.parse('2026-11-29T10:00:00Z')
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
  cost: '0.5',
  tokens: '100',
} satisfies Required<TaskSearch>
const asked = { task_id: '-t', asked_at: '', session_id: '', tenant: '', title: null, text: null }
const call = { run_id: '-r', call_id: '-c', call_hash: null, question_index: 0 }
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
    { ...asked, kind: 'approval', call },
    { ...asked, kind: 'question', question: call },
    ...budgets.map((budget) => ({ ...asked, kind: 'budget', budget })),
  ].map((entry) => entryCommand(entry as never)),
].flatMap((command) => (command?.('http://127.0.0.1:20000').beaver ?? '').split(' && '))

/** What a shell gives to `beaver`. */
const wordsOf = (line: string): string[] =>
  execFileSync('sh', ['-c', `beaver() { printf '%s\\0' "$@"; }; ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)

// `null`: the line is taken for a question for help, as it would be if a name were taken for an option.
it.each(offered)('%s', async (line) => expect(await parseCommandLine(wordsOf(line), '1')).not.toBeNull())

it('a name that looks like an option would be one without the marks', async () => {
  expect(offered).toContain("beaver show -- '-t'")
  await expect(parseCommandLine(['show', '-t'], '1')).rejects.toThrow('-t')
})

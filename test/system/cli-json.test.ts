// The shape of `--json`, for every command that has it: one object, or the lines of a stream. A new command
// needs a row here.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { until } from '@beaver/testing'
import { commandLine, helpOf } from '../docs/command-line.ts'
import type { Ran } from '../support/cli.ts'
import { keptCommands, type OperatedSystem, operatedSystem } from '../support/kept-system.ts'

/** A stream: one object on each line. */
const lines = 'lines'
/** One object. The words are what it must have at least. */
type Shape = typeof lines | readonly string[]

/** What each command prints, by its words. Commands that change something are asked for what is not there. */
const shapes: Readonly<
  Record<string, readonly { readonly args: readonly string[]; readonly shape: Shape }[]>
> = {
  run: [{ args: ['Say it', '--task-id', 'json-run'], shape: lines }],
  submit: [{ args: ['Say it', '--task-id', 'json-submit'], shape: ['task_id', 'session_id'] }],
  team: [{ args: ['run', '-f', 'nope.json'], shape: ['error'] }],
  watch: [{ args: ['json-shown'], shape: lines }],
  cancel: [{ args: ['nope'], shape: ['error'] }],
  steer: [{ args: ['nope', 'text'], shape: ['error'] }],
  retry: [{ args: ['nope'], shape: ['error'] }],
  budget: [{ args: [], shape: ['budgets', 'tasks', 'next'] }],
  approve: [{ args: [], shape: ['calls', 'more'] }],
  answer: [{ args: [], shape: ['questions', 'more'] }],
  deny: [{ args: [], shape: ['calls', 'more'] }],
  tasks: [{ args: [], shape: ['tasks', 'next'] }],
  top: [{ args: [], shape: ['tasks', 'daemons'] }],
  show: [{ args: ['json-shown'], shape: ['task'] }],
  timeline: [{ args: ['json-shown'], shape: lines }],
  events: [{ args: ['json-shown'], shape: lines }],
  sessions: [{ args: [], shape: ['sessions', 'next'] }],
  usage: [{ args: [], shape: [] }],
  failures: [{ args: [], shape: ['groups'] }],
  prices: [{ args: ['list'], shape: ['prices', 'more'] }],
  session: [{ args: ['json-session'], shape: ['tasks', 'next'] }],
  memory: [{ args: [], shape: [] }],
  search: [{ args: ['ok'], shape: ['hits', 'next'] }],
  plan: [{ args: [], shape: ['ok', 'budget', 'past'] }],
  schema: [
    { args: [], shape: [] },
    { args: ['task.submit'], shape: [] },
  ],
  tools: [
    { args: ['list'], shape: ['tools'] },
    { args: ['schema', 'system:read_file'], shape: ['name'] },
  ],
  kb: [
    { args: ['list'], shape: ['knowledge_bases'] },
    { args: ['search', 'nope', 'words'], shape: ['error'] },
  ],
  models: [{ args: [], shape: ['models'] }],
  skills: [
    { args: ['list'], shape: ['skills'] },
    { args: ['show', 'folder-report'], shape: ['name', 'body'] },
    { args: ['check', '.'], shape: ['skills'] },
  ],
  init: [{ args: ['/dev/null/nope'], shape: ['error'] }],
  'nats-config': [{ args: [], shape: ['namespace', 'users'] }],
  nats: [{ args: ['show'], shape: ['streams'] }],
  check: [{ args: ['--no-projection'], shape: ['ok', 'findings'] }],
  audit: [{ args: ['verify'], shape: ['ok', 'findings'] }],
  quarantine: [{ args: [], shape: ['messages', 'next'] }],
  archive: [{ args: ['--before', 'nonsense'], shape: ['error'] }],
  backup: [{ args: ['/dev/null/nope'], shape: ['error'] }],
  restore: [{ args: ['/dev/null/nope'], shape: ['error'] }],
  keys: [{ args: ['list'], shape: ['keys'] }],
  mcp: [{ args: ['pins'], shape: ['pins'] }],
  trust: [{ args: ['--list'], shape: ['folders'] }],
  status: [{ args: [], shape: ['ok', 'findings'] }],
  doctor: [{ args: [], shape: ['ok', 'checks'] }],
  // No process of the tests tells how it is, and no gateway runs.
  health: [{ args: [], shape: ['error'] }],
  gateway: [{ args: ['--host', 'no such host'], shape: ['error'] }],
  channels: [
    { args: ['list'], shape: ['waiting', 'dead'] },
    { args: ['dead'], shape: ['letters'] },
  ],
  console: [{ args: [], shape: ['error'] }],
  token: [
    { args: ['list'], shape: ['tokens'] },
    { args: ['create', 'json-ci', '--role', 'read'], shape: ['name', 'token'] },
  ],
}

const rows = Object.entries(shapes).flatMap(([name, of]) =>
  of.map(({ args, shape }) => ({ words: [name, ...args], shape })),
)

let kept: OperatedSystem
beforeAll(async () => {
  kept = await operatedSystem()
  const { client } = kept.system
  await client.run({ task: 'Say it', task_id: 'json-shown', session_id: 'json-session' })
  await until('the projector knows', async () => {
    const { tasks } = await client.query('tasks', { session_id: 'json-session' })
    return tasks[0]?.ended_at !== null && tasks.length === 1
  })
})

it('each command with --json has a row', async () => {
  const withJson: string[] = []
  for (const name of commandLine().commands)
    if (helpOf((await kept.beaver(name, '--help')).out).options.has('--json')) withJson.push(name)
  expect(Object.keys(shapes).toSorted()).toEqual(withJson.toSorted())
})

describe('in a running system', () => {
  it.each(rows)('$words prints its shape', async ({ words, shape }) => {
    const ran = await kept.beaver(...words, '--json')
    const printed = objectsOf(ran)
    if (shape === lines) return expect(printed.length).toBeGreaterThan(1)
    expect(printed).toHaveLength(1)
    const [answer = {}] = printed
    if (shape.includes('error')) return expectError(ran)
    expect(answer, `stderr: ${ran.err}`).not.toMatchObject({ error: expect.anything() })
    expect(Object.keys(answer), `stdout: ${ran.out}`).toEqual(expect.arrayContaining([...shape]))
    if (words[0] !== 'schema' && words[1] !== 'schema') expect(camelCase(answer)).toEqual([])
  })
})

describe('where no system runs', () => {
  it.each(rows)('$words prints an answer or one error', async ({ words }) => {
    const folder = await mkdtemp(join(tmpdir(), 'beaver-json-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const ran = await (
      await keptCommands()
    ).run([...words, '--json'], { cwd: folder, env: { HOME: folder, BEAVER_HOME: join(folder, 'home') } })
    expect(objectsOf(ran), `stderr: ${ran.err}`).toHaveLength(1)
    if (ran.exit === 3 && Object.hasOwn(objectsOf(ran)[0] ?? {}, 'error')) expectError(ran)
  })
})

/** Every line is an object; a warning or a text for people is on stderr. */
function objectsOf({ out }: Ran): Record<string, unknown>[] {
  return out
    .trimEnd()
    .split('\n')
    .map((line) => {
      const value: unknown = JSON.parse(line)
      expect(value !== null && typeof value === 'object' && !Array.isArray(value), `line: ${line}`).toBe(true)
      return value as Record<string, unknown>
    })
}

function expectError(ran: Ran): void {
  const { error } = objectsOf(ran)[0] as { error: { message: string } }
  expect(objectsOf(ran)).toEqual([
    {
      ok: false,
      error: { code: expect.any(String), message: expect.any(String), problems: expect.any(Array) },
    },
  ])
  expect(ran.err.replaceAll(/\s+/g, ' ')).toContain(error.message.replaceAll(/\s+/g, ' '))
  expect(ran.exit).toBeGreaterThan(0)
}

/** The names of fields that are not in snake_case. */
const camelCase = (value: unknown): string[] =>
  value === null || typeof value !== 'object'
    ? []
    : Object.entries(value).flatMap(([name, of]) => [
        ...(Array.isArray(value) || !/^[a-z]+[A-Z]/.test(name) ? [] : [name]),
        ...camelCase(of),
      ])

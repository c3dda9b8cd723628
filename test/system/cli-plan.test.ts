// The real command, as a user types it, where it needs no system: plan, help, wrong usage, bad input.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CommandHost, type Ran, runBeaver } from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-'))
  writeFileSync(
    join(folder, 'chain.json'),
    JSON.stringify({
      task: 'Report',
      agents: ['a', '乙', 'c'].map((name) => ({ name, instruction: `Do ${name}.` })),
    }),
  )
  writeFileSync(join(folder, 'bad.json'), '{"task": ')
})
afterAll(() => rmSync(folder, { recursive: true }))

let host: CommandHost
beforeAll(async () => void (host = await keptCommands()))

const environment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  HOME: folder,
  BEAVER_HOME: join(folder, 'home'),
  ...more,
})
const beaver = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  host.run(args, { cwd: folder, env: environment(env) })
/** As a process of its own, with an input. */
const beaverReads = (input: string, ...args: readonly string[]): Promise<Ran> =>
  runBeaver(args, { cwd: folder, env: environment(), input })
const file = (content: unknown): string => {
  const name = `given-${++files}.json`
  writeFileSync(join(folder, name), JSON.stringify(content))
  return name
}
let files = 0

const isOneSentence = (text: string): void => {
  expect(text.trimEnd()).not.toMatch(/\n|^\s*at /)
  expect(text).not.toBe('')
}

describe('beaver plan', () => {
  test('prints the graph as one line of JSON', async () => {
    const { exit, out } = await beaver(['plan', 'SequentialWorkflow', '-f', 'chain.json', '--json'])
    expect(exit).toBe(0)
    const { ok, graph } = JSON.parse(out) as {
      ok: boolean
      graph: { nodes: { node_id: string; depends_on: string[] }[]; output: string; outputs: string[] }
    }
    expect(ok).toBe(true)
    expect(graph.nodes.map(({ node_id, depends_on }) => [node_id, depends_on])).toEqual([
      ['a', []],
      ['乙', ['a']],
      ['c', ['乙']],
    ])
    expect([graph.output, graph.outputs]).toEqual(['c', ['c']])
  })

  test('refuses a check for a tool that is not there, and plans one for a tool that is', async () => {
    const check = (tool: string) => ({
      task: 't',
      agents: [{ name: 'a', instruction: 'i', required_evidence: [{ kind: 'tool_succeeded', tool }] }],
    })
    const [misspelt, right] = await Promise.all(
      ['raed_file', 'read_file'].map((tool) =>
        beaver(['plan', 'SequentialWorkflow', '-f', file(check(tool)), '--json']),
      ),
    )
    expect([misspelt?.exit, right?.exit]).toEqual([2, 0])
    expect(misspelt?.err).toContain('Did you mean "read_file"?')
    expect(JSON.parse(misspelt?.out ?? '')).toMatchObject({
      ok: false,
      error: { code: 'impossible_evidence', path: 'agents.0.required_evidence.0.tool' },
    })
  })

  test('prints a table for people, without colours in a pipe', async () => {
    const place = { cwd: folder, env: environment({ FORCE_COLOR: '1', CI: 'true' }) }
    const { exit, out } = await runBeaver(['plan', 'SequentialWorkflow', '-f', 'chain.json'], place)
    expect(exit).toBe(0)
    expect(out).toContain('SequentialWorkflow: 3 agents, 2 edges, 3 steps')
    expect(out).toMatch(/STEP +AGENT +AFTER/)
    expect(out).toContain('Past    nothing is known of earlier tasks, because no Beaver answers here\n')
    expect(out).not.toContain('\u001B')
  })

  test('says what a task without a workflow may use', async () => {
    const { exit, out } = await beaver(['plan'])
    expect([exit, out.split('\n')]).toEqual([
      0,
      [
        'A task without a workflow: 1 agent, which may start teams',
        'Spends  at least 1 call of models, at most 10.00 USD and 5,000,000 tokens',
        'Past    nothing is known of earlier tasks, because no Beaver answers here',
        '',
      ],
    ])
    expect(JSON.parse((await beaver(['plan', '--json'])).out)).toEqual({
      ...{ ok: true, budget: { usd: 10, tokens: 5_000_000 }, past: null },
    })
  })

  test('keeps within the limits of the configuration, both ways', async () => {
    const configured = (team: object): string => join(folder, file({ team }))
    const few = await beaver([
      '--config',
      configured({ agents_max: 2 }),
      'plan',
      'SequentialWorkflow',
      '-f',
      'chain.json',
    ])
    expect([few.exit, few.err]).toEqual([
      2,
      expect.stringContaining('There are 3 agents; the limit agentsMax is 2'),
    ])
    const agents = Array.from({ length: 2_000 }, (_, i) => ({ name: `n${i}`, instruction: 'i' }))
    const many = await beaver([
      '--config',
      configured({ agents_max: 2_500 }),
      'plan',
      'ConcurrentWorkflow',
      '-f',
      file({ task: 't', agents }),
      '--json',
    ])
    expect(many.exit).toBe(0)
  })

  test('reads stdin and draws a diagram', async () => {
    const stdin = JSON.stringify({
      task: 't',
      agents: [
        { name: 'x', instruction: 'i' },
        { name: 'y', instruction: 'i' },
      ],
    })
    const { exit, out } = await beaverReads(
      stdin,
      'plan',
      'mcp_local_team_workflow_mcp_SequentialWorkflow',
      '-f',
      '-',
      '--mermaid',
    )
    expect(exit).toBe(0)
    expect(out).toBe('flowchart TD\n  n0["x"]\n  n1(["y"])\n  n0 --> n1\n')
  })

  test('refuses arguments with code, message and path', async () => {
    const twice = { name: 'x', instruction: 'i' }
    const { exit, out, err } = await beaver([
      'plan',
      'SequentialWorkflow',
      '-f',
      file({ task: 't', agents: [twice, twice] }),
      '--json',
    ])
    expect(exit).toBe(2)
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      error: { code: 'duplicate_agent', path: 'agents.1.name' },
    })
    isOneSentence(err)
  })

  test.each([
    [
      ['plan', 'Nonsense', '-f', 'chain.json'],
      'There is no workflow "Nonsense". Workflows: SequentialWorkflow, ',
    ],
    [['plan', 'SequentialWorkflow', '-f', 'bad.json'], 'bad.json is not JSON'],
    [['plan', 'SequentialWorkflow', '-f', 'missing.json'], 'missing.json cannot be read'],
    [['plan', 'SequentialWorkflow'], 'Give the arguments of SequentialWorkflow with -f <args.json>.'],
    [['plan', '-f', 'chain.json'], 'Name the workflow: beaver plan <Workflow> -f <args.json>.'],
  ])('%j says what is wrong and ends with 2', async (args, says) => {
    const { exit, err } = await beaver(args)
    expect(exit).toBe(2)
    expect(err).toContain(says)
    isOneSentence(err)
  })
})

describe('beaver', () => {
  test('alone and with --help says what there is', async () => {
    const [alone, help] = await Promise.all([beaver([]), beaver(['--help'])])
    expect(alone).toEqual(help)
    expect(help).toMatchObject({ exit: 0, err: '' })
    expect(help.out).toContain('run "<task>"')
    expect((await beaver(['help', 'show'])).out).toContain('Example:\n  beaver show task_01m848rs')
    expect((await beaver(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test.each([
    [['frobnicate'], 2, 'Unknown command'],
    [['taskss'], 2, 'Did you mean tasks?'],
    [['tasks', '--bogus'], 2, '--bogus'],
    [['tasks', '--limit', '0'], 2, '--limit'],
    [['run', ''], 2, 'The task is empty'],
    [['run', 'one', 'two'], 2, 'Put the task in quotes.'],
    [['run', '--up', '--workspace', './nowhere', 'x'], 2, 'nowhere does not exist'],
    [['run', '--workspace', 'chain.json', 'x'], 2, 'is a file, not a folder'],
    [['tasks'], 3, 'No Beaver system is running with its data in '],
    [['tasks', '--nats-url', 'nats://127.0.0.1:1'], 3, 'No NATS server answers at nats://127.0.0.1:1'],
    [['--config', 'bad.json', 'tasks'], 2, 'is not JSON'],
    [['run', '--up', '--nats-url', 'nats://127.0.0.1:1', 'x'], 3, 'No NATS server answers'],
  ])('%j ends with %i and one sentence', async (args, code, says) => {
    const { exit, out, err } = await beaver(args)
    expect({ exit, err }).toEqual({ exit: code, err: expect.stringContaining(says) as string })
    isOneSentence(err)
    expect(out).toBe('')
  })

  test('with --json an error is also one line of JSON', async () => {
    const { exit, out } = await beaver(['show', 'task_1', '--json'])
    expect(exit).toBe(3)
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: 'unreachable', problems: [] } })
  })

  test('lists every problem of a configuration with its path', async () => {
    const { exit, err } = await beaver(['tasks'], { BEAVER_NAMESPACE: 'a b', BEAVER_TASKS_MAX: '0' })
    expect(exit).toBe(2)
    expect(err).toMatch(/namespace: .*BEAVER_NAMESPACE/)
    expect(err).toMatch(/daemon\.tasks_max: .*BEAVER_TASKS_MAX/)
  })

  test('refuses a nats-server that is missing', async () => {
    const { exit, err } = await beaver(['up'], { BEAVER_NATS_SERVER: '/nowhere/nats-server' })
    expect(exit).toBe(3)
    expect(err).toContain('/nowhere/nats-server cannot be run')
  })
})

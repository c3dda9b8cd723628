// The examples, as their pages tell people to run them: the real command, the simulated model, one real
// system for all of them. Every block of commands on a page is run, and what the page prints below it is what
// the command prints. A block that only begins with a folder and then has commands of Beaver runs in the
// process of the commands: a process for each of them takes most of the time. A block with a pipe runs in a
// shell, as do the programs.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type EventType, isTerminalTaskEvent } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { commandHost } from '../support/cli.ts'
import { compileCache } from '../support/compile-cache.ts'
import { only, told } from '../support/system.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folderOf = (example: string): string => join(root, 'examples', example)
const examples = readdirSync(join(root, 'examples'), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
)
/** They bring a runtime of their own. */
const isProgram = (example: string): boolean => existsSync(join(folderOf(example), 'main.ts'))
const commandsMsMax = 60_000

const commands = commandHost()
afterAll(() => commands[Symbol.asyncDispose]())

let home: string
let system: ChildProcess

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'beaver-examples-'))
  writeFileSync(join(home, 'beaver.config.json'), JSON.stringify(configOfAll()))
  // Ends when its stdin closes: with the test, or with whoever runs it.
  const script = 'cd "$1"; "$2"/bin/beaver up </dev/null & up=$!; read _; kill $up; wait $up'
  system = spawn('sh', ['-c', script, 'sh', home, root], {
    env: environment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    system.stdout?.on('data', (chunk: Buffer) => chunk.toString().includes('Beaver is up') && resolve())
    system.once('exit', (code) => reject(new Error(`beaver up ended with ${code}`)))
  })
}, commandsMsMax)

afterAll(async () => {
  if (system.exitCode === null) {
    const gone = new Promise((resolve) => system.once('exit', resolve))
    system.stdin?.end()
    await gone
  }
  await rm(home, { recursive: true })
}, commandsMsMax)

/** What the examples configure, each relative to its own folder, put together. */
function configOfAll(): Record<string, string[]> {
  const lists = examples.flatMap((example) => {
    const file = join(folderOf(example), 'beaver.config.json')
    const own = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string[]>) : {}
    const skills = existsSync(join(folderOf(example), 'skills')) ? { skills: ['skills'] } : {}
    return Object.entries({ ...own, ...skills }).map(([key, paths]) => ({
      key,
      paths: paths.map((path) => join(folderOf(example), path)),
    }))
  })
  return Object.fromEntries(
    [...Map.groupBy(lists, ({ key }) => key)].map(([key, each]) => [key, each.flatMap(({ paths }) => paths)]),
  )
}

const environment = (folder = '.beaver'): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  ...compileCache,
  HOME: process.env['HOME'] ?? '',
  BEAVER_HOME: join(home, folder),
  // `beaver up` runs in a folder of this test's, with the configurations of all examples. The examples' own
  // folders need no trust.
  ...(folder === '.beaver' ? { BEAVER_TRUST: '1' } : {}),
})

function run(script: string, cwd = root, env = environment()): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-e', '-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
    child.on('close', (code) =>
      code === 0
        ? resolve(said.out)
        : reject(new Error(`${script}\nended with ${code}: ${said.err}\n${said.out}`)),
    )
  })
}

/**
 * The words of a command that no shell has to read further: no pipe, no redirection, no variable. `null` for
 * any other one.
 */
function wordsOf(command: string): string[] | null {
  const words = [...command.matchAll(/'([^']*)'|"([^"$`\\]*)"|([\w./:-]+)|(\S)/g)]
  return words.some(([, , , , other]) => other !== undefined)
    ? null
    : words.map(([, single, double, plain]) => single ?? double ?? plain ?? '')
}

/** Runs the commands of a block, and returns what they print. */
async function runBlock(script: string): Promise<string> {
  const [first, ...rest] = script.trimEnd().split('\n').map(wordsOf)
  const beaver = rest.map((words) => (words?.[0] === '../../bin/beaver' ? words.slice(1) : null))
  if (first?.[0] !== 'cd' || first.length !== 2 || beaver.some((args) => args === null)) return run(script)
  let printed = ''
  for (const args of beaver) printed += await runCommand(args ?? [], join(root, first[1] ?? ''))
  return printed
}

async function runCommand(args: readonly string[], cwd: string): Promise<string> {
  const { exit, out, err } = await commands.run(args, { cwd, env: environment() })
  expect([args, exit, exit === 0 ? '' : err]).toEqual([args, 0, ''])
  return out
}

interface Block {
  readonly script: string
  /** What the page prints below it; empty for nothing. */
  readonly prints: readonly string[]
}

function blocksOf(example: string): Block[] {
  const page = readFileSync(join(folderOf(example), 'README.md'), 'utf8')
  const fenced = [...page.matchAll(/^(`{3,})(\w*)\n([\s\S]*?)^\1$/gm)].map(
    ([, , language = '', content = '']) => ({ language, content }),
  )
  return fenced.flatMap(({ language, content }, index) => {
    const next = fenced[index + 1]
    return language === 'sh'
      ? [{ script: content, prints: next?.language === 'text' ? linesOf(next.content) : [] }]
      : []
  })
}

/**
 * Lines without what differs from run to run: ids, times, and tokens, which follow from the length of paths.
 */
function linesOf(text: string): string[] {
  return text
    .replace(/task_[0-9a-z]{26}/g, 'task_…')
    .replace(/[\d.]+ s\b/g, '… s')
    .replace(/[\d,]+ tokens/g, '… tokens')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
}

/** The outputs of an example's blocks; run once. */
const ran = new Map<string, Promise<readonly (Block & { readonly out: string })[]>>()
function outputsOf(example: string): Promise<readonly (Block & { readonly out: string })[]> {
  const known =
    ran.get(example) ??
    Promise.all(blocksOf(example).map(async (block) => ({ ...block, out: await runBlock(block.script) })))
  ran.set(example, known)
  return known
}

/** The journal of the task that the n-th block of a page ran. */
function eventsOf(example: string, block = 0): Promise<readonly RecordedEvent[]> {
  const key = `${example} ${block}`
  const events = journals.get(key) ?? outputsOf(example).then((outputs) => eventsIn(outputs[block]!.out))
  journals.set(key, events)
  return events
}

const journals = new Map<string, Promise<readonly RecordedEvent[]>>()

/**
 * The journal of the task that a command ran. The read model may know its end a moment later than the
 * command.
 */
async function eventsIn(out: string): Promise<readonly RecordedEvent[]> {
  const [task = ''] = /task_[0-9a-z]{26}/.exec(out) ?? []
  return until('the events end with the task', async () => {
    const lines = (await runCommand(['events', task, '--json'], root))
      .split('\n')
      .filter((line) => line !== '')
    const events = lines.map((line) => {
      const { run_id: runId, ...event } = JSON.parse(line) as RecordedEvent & { run_id: string | null }
      return runId === null ? event : { ...event, runId }
    })
    return events.some(({ type }) => isTerminalTaskEvent(type)) && events
  })
}

const nodesOf = (events: readonly RecordedEvent[]) => [
  ...only(events, 'task_team_run_started').flatMap(({ data }) => data.graph.nodes),
  ...only(events, 'graph_extended').flatMap(({ data }) => data.nodes),
]
const dependenciesOf = (events: readonly RecordedEvent[]): Record<string, string[]> =>
  Object.fromEntries(nodesOf(events).map((node) => [node.node_id, node.depends_on]))

it('are all listed on the page of examples, and nothing else is', () => {
  const page = readFileSync(join(root, 'examples/README.md'), 'utf8')
  expect(
    [...page.matchAll(/\]\(([\w-]+)\/README\.md\)/g)]
      .map(([, name = '']) => name)
      .toSorted((a, b) => (a < b ? -1 : 1)),
  ).toEqual(examples.toSorted((a, b) => (a < b ? -1 : 1)))
})

describe.each(examples.filter(isProgram))('the program %s', (example) => {
  test(
    'prints what its page says it prints, and ends',
    async () => {
      const [block] = blocksOf(example)
      expect(block?.prints.length).toBeGreaterThan(2)
      expect(linesOf(await run(block?.script ?? '', root, environment(example)))).toEqual(block?.prints)
    },
    commandsMsMax,
  )
})

describe.each(examples.filter((example) => !isProgram(example)))('%s', (example) => {
  test(
    'prints what its page says it prints',
    async () => {
      const outputs = await outputsOf(example)
      expect(outputs[0]?.prints.length).toBeGreaterThan(5)
      for (const { out, prints } of outputs) {
        const lines = linesOf(out)
        const missing = prints.filter((line) => !lines.includes(line))
        expect(missing).toEqual([])
      }
    },
    commandsMsMax,
  )

  test(
    'completes, every node of it, with its evidence, and says that the model is simulated',
    async () => {
      const events = await eventsOf(example)
      expect(told(events).at(-1)).toBe('task_completed')
      expect(told(events)).not.toContain('node_failed')
      expect(only(events, 'node_evidence_evaluated').every(({ data }) => data.passed)).toBe(true)
      expect(only(events, 'team_diagnostic_recorded')).toEqual([])
      const { data } = only(events, 'task_completed')[0]!
      expect(data.simulated).toBe(true)
      // What only quotes the results of tools is the tools' word, not the model's.
      expect(data.final_output).toMatch(/simulated model|模拟模型|^Results? of /)
    },
    commandsMsMax,
  )
})

describe('the finance comparison', () => {
  it('has the order of D-08, and the first web_search from a node', async () => {
    const events = await eventsOf('finance-comparison')
    const rootRun = only(events, 'run_started')[0]?.data.run_id
    const nodeOf = new Map(
      only(events, 'node_started').map(({ data }) => [data.run_id as string, data.node_id]),
    )
    const landmarks: readonly EventType[] = [
      'skill_activation_snapshotted',
      'execution_mode_selected',
      'tool_call_started',
      'task_team_run_started',
      'task_team_run_completed',
      'task_completed',
    ]
    const shown = events.flatMap((each) => {
      if (!landmarks.includes(each.type)) return []
      if (each.type !== 'tool_call_started') return [each.type]
      return [`${each.runId === rootRun ? 'root' : nodeOf.get(each.runId ?? '')} ${each.data.tool_name}`]
    })
    expect(shown).toEqual([
      'skill_activation_snapshotted',
      'execution_mode_selected',
      'root SequentialWorkflow',
      'task_team_run_started',
      ...['web_search', 'web_search', 'web_fetch', 'web_fetch'].map((tool) => `source_collector ${tool}`),
      ...['metric_extractor', 'validator', 'reporter'].flatMap((node) => [
        `${node} web_fetch`,
        `${node} web_fetch`,
      ]),
      'task_team_run_completed',
      'task_completed',
    ])
  })

  it('holds figures and sources of every agent that writes them to the filings', async () => {
    const kinds = only(await eventsOf('finance-comparison'), 'node_evidence_evaluated').map(({ data }) => [
      data.node_id,
      data.checks.flatMap(({ requirement, status }) =>
        typeof requirement === 'object' && status === 'passed' ? [requirement.kind] : [],
      ),
    ])
    for (const [node, passed] of kinds)
      expect([node, passed]).toEqual([node, expect.arrayContaining(['tool_succeeded', 'output_cites'])])
    expect(
      kinds.filter(([, passed]) => passed?.includes('numbers_from_tools')).map(([node]) => node),
    ).toEqual(['metric_extractor', 'validator', 'reporter'])
  })
})

describe('the match analysis', () => {
  it('has the graph of its skill, and the analysts at the same time', async () => {
    const events = await eventsOf('match-analysis')
    const analysts = ['tactics', 'players', 'media']
    expect(dependenciesOf(events)).toEqual({
      collector: [],
      ...Object.fromEntries(analysts.map((name) => [name, ['collector']])),
      synthesizer: ['collector', ...analysts],
    })
    const places = (type: 'node_started' | 'node_completed'): number[] =>
      only(events, type)
        .filter(({ data }) => analysts.includes(data.node_id))
        .map((each) => events.indexOf(each))
    expect(Math.max(...places('node_started'))).toBeLessThan(Math.min(...places('node_completed')))
  })
})

describe('the workflow as a tool', () => {
  it('is called by the agent whose profile lists it, with arguments out of the words of the task', async () => {
    const events = await eventsOf('workflow-as-tool')
    expect(only(events, 'run_started')[0]?.data.tools.toSorted()).toEqual([
      'read_file',
      'workflow:incident_brief',
    ])
    const [call] = only(events, 'assistant_message_added').flatMap(({ data }) => data.tool_calls)
    expect([call?.name, JSON.parse(call?.arguments ?? '')]).toEqual([
      'workflow:incident_brief',
      { path: 'incidents/2026-05-12-checkout.md', audience: 'engineers' },
    ])
  })

  it('skips the timeline for its default audience', async () => {
    const folder = folderOf('workflow-as-tool')
    const events = await eventsIn(
      await runCommand(
        ['run', '--profile', 'incident-desk', 'Brief me on incidents/2026-05-12-checkout.md'],
        folder,
      ),
    )
    expect(only(events, 'node_skipped').map(({ data }) => data.node_id)).toEqual(['timeline'])
    expect(only(events, 'task_completed')[0]?.data.final_output).toMatch(/^# Brief for management\n/)
  })
})

describe('the agent team', () => {
  it('grows by the plan of its leader', async () => {
    const events = await eventsOf('agent-team')
    expect(dependenciesOf(events)).toEqual({
      'lead #plan': [],
      'tester #1': [],
      'support #2': [],
      'note_writer #3': ['tester #1', 'support #2'],
      'lead #synthesis': ['tester #1', 'support #2', 'note_writer #3'],
    })
  })

  it('as a broadcast asks all at the same time', async () => {
    const events = await eventsOf('agent-team', 1)
    expect(dependenciesOf(events)).toEqual({
      tester: [],
      support: [],
      note_writer: [],
      lead: ['tester', 'support', 'note_writer'],
    })
    expect(told(events).at(-1)).toBe('task_completed')
  })
})

describe('the fan-out', () => {
  it('grows by an agent for each file, and has a line of each', async () => {
    const events = await eventsOf('fan-out')
    const files = readdirSync(join(folderOf('fan-out'), 'reports')).toSorted()
    expect(only(events, 'graph_extended').map(({ data }) => data.nodes.length)).toEqual([files.length])
    const lines = only(events, 'task_completed')[0]
      ?.data.final_output.split('\n')
      .filter((line) => line.startsWith('- '))
    expect(lines?.map((line) => /\((\S+), quoted/.exec(line)?.[1])).toEqual(
      files.map((file) => `reports/${file}`),
    )
  })
})

describe('the skill of the README', () => {
  it(
    'gives the user the text of the reporter, and no model writes its checked figures again (D-61)',
    { timeout: commandsMsMax },
    async () => {
      const folder = join(home, 'garden')
      mkdirSync(folder)
      writeFileSync(join(folder, 'README.md'), '# Garden\n\nA plan for the garden.\n')
      const events = await eventsIn(
        await runCommand(['run', '--skill', 'folder-report', 'Report on this folder'], folder),
      )
      const reporter = only(events, 'node_started').find(({ data }) => data.node_id === 'reporter')?.data
        .run_id
      const written = only(events, 'assistant_message_added').find(({ runId }) => runId === reporter)?.data
        .content
      const [end] = only(events, 'task_completed')
      expect(written).toContain('# Folder report')
      expect(end?.data.final_output).toBe(written)
      const ofRoot = only(events, 'assistant_message_added').filter(
        ({ runId }) => runId === only(events, 'run_started')[0]?.data.run_id,
      )
      expect(ofRoot.map(({ data }) => [data.finish_reason, data.usage.calls])).toEqual([
        ['tool_calls', 1],
        ['delivered', 0],
      ])
      expect([end?.data.usage.calls, end?.data.simulated]).toEqual([9, true])
    },
  )
})

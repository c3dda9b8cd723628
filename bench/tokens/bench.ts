// bench tokens: what models are sent, in tokens, and which share of it begins like an earlier request, so
// that a provider's cache has it. All contenders have the same conversations: those of a run of Beaver. They
// differ in what they send around them. A prefix is counted over all requests of a contender, because a
// provider's cache is shared by them. Tools come before messages, as they do for providers.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSimulatedModelProcess } from '@beaver/simulated-model'
import { loadToolset } from '@beaver/tools'
import { isWorkflowTool } from '@beaver/workflows'
import { startBeaver } from '../beaver.ts'
import { type Conversation, conversationsOf, nextTurn } from './conversation.ts'
import { aiSdk, langGraph, type Talk } from './others.ts'
import { tokenPeers } from './peers.ts'
import { type Exchange, recorder, type Turn, type WireRequest } from './recorder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/**
 * How often each contender has the whole conversation: the later ones show what runs of one profile share.
 */
const runs = 2

interface Scenario {
  readonly key: 'folder_report' | 'ten_tools'
  readonly title: string
  readonly task: { readonly task: string; readonly skill?: string }
  readonly config: Record<string, unknown>
  readonly files: Readonly<Record<string, unknown>>
  readonly answer: (simulated: string) => (request: WireRequest) => Turn | string
}

const call = (name: string, args: object): Turn => ({
  content: null,
  calls: [{ name, arguments: JSON.stringify(args) }],
})
const tenTurns: readonly Turn[] = [
  call('list_files', {}),
  call('read_file', { path: 'README.md' }),
  call('file_stats', {}),
  call('recount_files', {}),
  call('echo', { text: 'one' }),
  call('memory', { action: 'add', target: 'memory', content: 'The bench has ten turns.' }),
  call('skill_view', {}),
  call('list_files', { depth_max: 1 }),
  call('read_file', { path: 'agent-team/README.md' }),
  call('echo', { text: 'two' }),
  { content: 'Ten tools were called.', calls: [] },
]
const tenTools = [
  'list_files',
  'read_file',
  'write_file',
  'file_stats',
  'recount_files',
  'web_fetch',
  'echo',
  'memory',
  'session_search',
  'skill_view',
]

const scenarios: readonly Scenario[] = [
  {
    key: 'folder_report',
    title: 'the folder report: a team of the skill folder-report',
    task: { task: 'Report on this folder', skill: 'folder-report' },
    config: { skills: [join(root, 'skills')] },
    files: {},
    answer: (simulated) => () => simulated,
  },
  {
    key: 'ten_tools',
    title: 'a loop of eleven turns with ten tools',
    task: { task: 'Call the tools one after the other.' },
    config: { profiles: ['ten.json'], profile: 'ten' },
    files: { 'ten.json': { name: 'ten', tool_ids_inventory: tenTools.map((name) => `system:${name}`) } },
    answer: () => (request) =>
      tenTurns[request.messages.filter(({ role }) => role === 'assistant').length] ?? {
        content: 'Done.',
        calls: [],
      },
  },
]

interface Figures {
  readonly requests: number
  readonly input_tokens: number
  readonly tools_tokens_first: number
  readonly prefix_share: number
}

export async function run({ json }: { json: boolean }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  tokenPeers.install(say)
  const { countTokens } = (await tokenPeers.load('gpt-tokenizer/encoding/o200k_base')) as {
    countTokens: (text: string) => number
  }
  const simulated = await startSimulatedModelProcess()
  const figures: Record<string, Record<string, Figures>> = {}
  try {
    for (const scenario of scenarios) {
      say(`bench: ${scenario.title}`)
      const beaver = await throughBeaver(scenario, `${simulated.url}/v1`)
      const conversations = conversationsOf(beaver, isWorkflowTool)
      figures[scenario.key] = {
        beaver: figuresOf(beaver, countTokens),
        langgraph: figuresOf(await throughOther(conversations, langGraph), countTokens),
        ai_sdk: figuresOf(await throughOther(conversations, aiSdk), countTokens),
      }
    }
  } finally {
    await simulated.close()
  }
  process.stdout.write(
    json ? `${JSON.stringify({ bench: 'tokens', figures, ratios: {} })}\n` : table(figures),
  )
}

async function throughBeaver(
  { task, config, files, answer }: Scenario,
  simulated: string,
): Promise<readonly Exchange[]> {
  const provider = await recorder(answer(simulated))
  const workspace = mkdtempSync(join(tmpdir(), 'beaver-tokens-'))
  cpSync(join(root, 'examples'), workspace, {
    recursive: true,
    filter: (from) => !from.includes('node_modules'),
  })
  const beaver = await startBeaver(provider.url, { ...config, workspace_roots: [workspace] }, files)
  try {
    for (let i = 0; i < runs; i++) {
      const { status, failure } = await beaver.client.run({ ...task, workspace })
      if (status !== 'completed') throw new Error(`The task ended ${status}: ${failure?.message ?? ''}`)
    }
    return provider.exchanges
  } finally {
    await beaver.stop()
    provider.close()
    rmSync(workspace, { recursive: true, force: true })
  }
}

async function throughOther(
  conversations: readonly Conversation[],
  make: (url: string, tools: Awaited<ReturnType<typeof loadToolset>>['tools']) => Promise<Talk>,
): Promise<readonly Exchange[]> {
  const provider = await recorder(({ messages }) => nextTurn(conversations, messages))
  const { tools } = await loadToolset({ tools: [], workflows: [], profiles: [], profileDefault: null })
  const talk = await make(provider.url, tools)
  for (let i = 0; i < runs; i++) for (const conversation of conversations) await talk(conversation)
  provider.close()
  return provider.exchanges
}

function figuresOf(exchanges: readonly Exchange[], countTokens: (text: string) => number): Figures {
  const texts = exchanges.map(({ request }) => rendered(request))
  const tokens = texts.map((text) => countTokens(text))
  const shared = texts.map((text, i) =>
    countTokens(
      text.slice(0, Math.max(0, ...texts.slice(0, i).map((earlier) => sharedLength(text, earlier)))),
    ),
  )
  const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0)
  return {
    requests: exchanges.length,
    input_tokens: sum(tokens),
    tools_tokens_first: countTokens(toolsText(exchanges[0]?.request)),
    prefix_share: Math.round((sum(shared) / sum(tokens)) * 1000) / 1000,
  }
}

const toolsText = (request: WireRequest | undefined): string =>
  JSON.stringify((request?.tools ?? []).map((tool) => tool.function))

/** A request in the order in which a provider reads it. */
const rendered = (request: WireRequest): string =>
  [toolsText(request), ...request.messages.map((message) => JSON.stringify(message))].join('\n')

function sharedLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  let i = 0
  while (i < end && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}

function table(figures: Readonly<Record<string, Readonly<Record<string, Figures>>>>): string {
  const names: Readonly<Record<string, string>> = {
    beaver: 'Beaver',
    langgraph: 'LangGraph.js',
    ai_sdk: 'AI SDK',
  }
  const lines = scenarios.flatMap(({ key, title }) => [
    '',
    `${title}, ${runs} runs`,
    `${''.padEnd(16)} ${'requests'.padStart(9)} ${'input tokens'.padStart(13)} ${'tools, first'.padStart(13)} ${'unchanged prefix'.padStart(17)}`,
    ...Object.entries(figures[key] ?? {}).map(
      ([name, of]) =>
        `${(names[name] ?? name).padEnd(16)} ${String(of.requests).padStart(9)} ${String(of.input_tokens).padStart(13)} ${String(of.tools_tokens_first).padStart(13)} ${`${(of.prefix_share * 100).toFixed(1)} %`.padStart(17)}`,
    ),
  ])
  return [
    ...lines,
    '',
    'Tokens are those of o200k_base. The other frameworks have the same conversations, without a root agent.',
    '',
  ].join('\n')
}

// What the loop's tests share: a loop with a scripted provider, an in-memory host and a clock that moves only
// when told.
import {
  type MemoryHost,
  memoryHost,
  rootSpec,
  type ScriptedProvider,
  scriptedProvider,
  type ScriptedReply,
  until,
  type VirtualClock,
  virtualClock,
} from '@beaver/testing'
import { type FailurePolicies, failurePolicies } from '@beaver/core/supervision'
import type { Workflow } from '@beaver/workflows'
import { z } from 'zod'
import {
  type AgentProfile,
  type AskedProviders,
  type EmbeddingProvider,
  type ChatProvider,
  defineTool,
  type LoopEnd,
  type LoopServices,
  type LoopSpec,
  type PermissionRule,
  runAgentLoop,
  type Skill,
  type TeamRunResult,
  type Tool,
} from '../src/index.ts'

export const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  idempotent: true,
  run: ({ a, b }) => a + b,
})
export const guided: Skill = {
  name: 'guided',
  description: 'd',
  body: 'Use SequentialWorkflow.',
  sha256: 'x',
  folder: '/skills/guided',
  modelInvocable: true,
  allowedTools: null,
  license: null,
  compatibility: null,
  guidance: {
    version: 1,
    preferred_tool: 'SequentialWorkflow',
    agents: [{ name: 'a', instruction: 'do a' }],
  },
}
export const sequential = { task: 't', agents: [{ name: 'a', instruction: 'do a' }] }
export const teamResult: TeamRunResult = {
  team_run_id: 'team1',
  outcome: 'complete',
  final_output: 'of the team',
  outputs: [{ node_id: 'a', output: 'of the team' }],
  message: null,
  stopped: null,
  failures: [],
}

/** A tool that counts its calls and does what the test says. */
export function probe(
  name: string,
  run: (input: { n?: number | undefined }, signal: AbortSignal) => unknown,
  idempotent = false,
): Tool & { readonly calls: number[] } {
  const made: number[] = []
  const tool = defineTool({
    name,
    description: name,
    input: z.strictObject({ n: z.number().optional() }),
    idempotent,
    run: (input, { signal }) => (made.push(input.n ?? 0), run(input, signal)),
  })
  return { ...tool, calls: made }
}

export interface Loop {
  readonly end: Promise<LoopEnd>
  readonly host: MemoryHost
  readonly provider: ScriptedProvider
  /** Has no replies unless the test gives it some. */
  readonly fallback: ScriptedProvider
  readonly auxiliary: ScriptedProvider
  readonly clock: VirtualClock
  readonly services: LoopServices
  cancel(reason?: string): void
}

export interface Given {
  readonly replies: readonly ScriptedReply[]
  /** Models that profiles and agents may name. Absent: none. */
  readonly models?: Readonly<Record<string, AskedProviders>>
  /** The context window of the main model. Absent: it is not known. */
  readonly contextTokens?: number
  /** Absent: there is no fallback. */
  readonly fallback?: readonly ScriptedReply[]
  /** Models that are asked after the fallback. Absent: none. */
  readonly further?: readonly ChatProvider[]
  /** Absent: there is no auxiliary provider. */
  readonly auxiliary?: readonly ScriptedReply[]
  /** Absent: there is none. */
  readonly embeddings?: EmbeddingProvider
  readonly permissions?: readonly PermissionRule[]
  readonly egress?: LoopServices['egress']
  readonly skillSelection?: LoopServices['skillSelection']
  readonly tools?: readonly Tool[]
  readonly skills?: readonly Skill[]
  readonly definitions?: readonly Workflow[]
  readonly profiles?: readonly AgentProfile[]
  readonly profileDefault?: string
  readonly toolboxesOf?: LoopServices
  readonly spec?: LoopSpec
  readonly host?: MemoryHost
  readonly random?: number
  readonly workflowLimits?: LoopServices['workflowLimits']
  readonly answerWaitMsMax?: number
  /** Default: those of core. */
  readonly policies?: FailurePolicies
}

export function begin(given: Given): Loop {
  const {
    replies,
    tools = [add],
    skills = [],
    definitions = [],
    profiles = [],
    spec = rootSpec(),
    random = 0,
  } = given
  const clock = virtualClock()
  const host = given.host ?? memoryHost({ clock })
  const provider = Object.assign(
    scriptedProvider(replies),
    given.contextTokens === undefined ? {} : { contextTokens: given.contextTokens },
  )
  const fallback = scriptedProvider(given.fallback ?? [], 'second')
  const auxiliary = scriptedProvider(given.auxiliary ?? [], 'helper')
  const stop = new AbortController()
  const services: LoopServices = {
    providers: {
      main: provider,
      fallbacks: [...(given.fallback === undefined ? [] : [fallback]), ...(given.further ?? [])],
      auxiliary: given.auxiliary === undefined ? null : auxiliary,
      embeddings: given.embeddings ?? null,
      ...(given.models === undefined ? {} : { models: new Map(Object.entries(given.models)) }),
    },
    permissions: given.permissions ?? [],
    ...(given.workflowLimits === undefined ? {} : { workflowLimits: given.workflowLimits }),
    ...(given.answerWaitMsMax === undefined ? {} : { answerWaitMsMax: given.answerWaitMsMax }),
    ...(given.egress === undefined ? {} : { egress: given.egress }),
    skillSelection: given.skillSelection ?? 'off',
    tools,
    skills,
    definitions,
    profiles: new Map(profiles.map((profile) => [profile.name, profile])),
    profileDefault: given.profileDefault ?? null,
    ...(given.toolboxesOf === undefined ? {} : { toolboxesOf: given.toolboxesOf }),
    clock,
    random: () => random,
    toolTimeoutMs: 1_000,
    failurePolicies: given.policies ?? failurePolicies,
  }
  const end = runAgentLoop(spec, services, host, stop.signal)
  end.catch(() => {})
  return {
    end,
    host,
    provider,
    fallback,
    auxiliary,
    clock,
    services,
    cancel: (reason = 'enough') => stop.abort(reason),
  }
}

/**
 * A run that goes on from where the journal of another stands, in a process that begins with `entries` alone.
 */
export function resumed(entries: MemoryHost['entries'], given: Omit<Given, 'host'>): Loop {
  const host = memoryHost({ entries })
  const spec = given.spec ?? rootSpec()
  return begin({ ...given, host, spec: { ...spec, resume: entries.length === 0 ? null : host.events } })
}

export const results = (host: MemoryHost) =>
  host.events.flatMap((event) => (event.type === 'tool_result_recorded' ? [event.data] : []))
export const lastMessages = (provider: ScriptedProvider) => provider.requests.at(-1)?.messages ?? []
export const toolMessages = (provider: ScriptedProvider) =>
  lastMessages(provider).flatMap((message) =>
    message.role === 'tool' ? [[message.tool_call_id, message.content]] : [],
  )

/** Lets everything that can happen without an outside event happen. */
export async function turns(count = 5): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Moves the clock on whenever the loop waits for it. */
export async function advanceUntilSettled(loop: Loop): Promise<void> {
  let settled = false
  void loop.end.then(
    () => (settled = true),
    () => (settled = true),
  )
  await until('the loop ended', async () => {
    if (settled) return true
    loop.clock.advance(1_000)
    return new Promise<boolean>((resolve) => setImmediate(() => resolve(settled)))
  })
}

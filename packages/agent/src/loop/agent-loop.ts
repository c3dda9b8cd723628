// The AgentLoop: runs the loop machine with its effects (assemble here; think, settle-call and finalize in
// their files).
// L1. An event is durable before anything that it authorises begins. A tool starts after its
// `tool_call_started`, except for a pure tool (pure-calls.ts). An answer is used after its
// `assistant_message_added`.
// L2. What is journaled is not done again: no provider answer is requested twice.
// L3. After a crash, a tool call that had begun runs again only if the tool is idempotent. Otherwise its
// outcome is in doubt.
//
// A loop ends once: it resolves with how the run ended, or rejects if the task no longer belongs to this
// daemon.
import {
  type ChatMessage,
  type ContextPart,
  type DomainEvent,
  estimateTokens,
  event,
  type JsonObject,
  visible,
} from '@beaver/core'
import { type EvidenceRequirement, filesToFind } from '@beaver/core/evidence'
import { evolveRun, frameMark, runEnded, type RunState, skillMessage, startRun } from '@beaver/core/fold'
import { type ImagePart, imageTokens } from '@beaver/core/images'
import { drafted, type RecordedEvent } from '@beaver/core/journal'
import { cleanTaint, joinTaints } from '@beaver/core/taint'
import { isWorkflowTool } from '@beaver/workflows'
import { type Actor, createActor } from 'xstate'
import {
  joinSections,
  type PromptSection,
  promptSections,
  workerMessage,
} from '../context/context-builder.ts'
import { outputCuts, outputsCharsMaxDefault } from '../context/output-cuts.ts'
import { defaultEgressRules, type EgressRules, isSecretPath, isUntrustedPath } from '../taint/egress-rules.ts'
import { activate, type Activation, type Asking, routingSkills } from './activation.ts'
import { type Assembly, assemblyOf } from './assembly.ts'
import { type Authorisation, authorisationEvents, authorise, authorityOf } from './authorise.ts'
import { describedWork } from './described-work.ts'
import { finalize } from './finalize.ts'
import { liveText } from './live-text.ts'
import { type LoopContext, type LoopEffects, loopMachine, stepsOf } from './loop-machine.ts'
import type { LoopServices } from './loop-services.ts'
import {
  factsWanted,
  type LoopEnd,
  loopEndOf,
  type LoopHost,
  type LoopPart,
  type LoopSpec,
  requirementsOfRun,
} from './loop-spec.ts'
import type { LoopWork, ModelCall } from './loop-work.ts'
import { withPureResults } from './pure-calls.ts'
import { callSettler } from './settle-call.ts'
import { showCall } from './show-call.ts'
import { reservedRequest, reserveEmbedding } from './reserve-call.ts'
import { steeredOn, steerMessages, unlessSteered } from './steers.ts'
import { callOf, think } from './think.ts'

/**
 * Runs one AgentLoop to its end. Aborting `signal` cancels the run, and the reason of the abort is the text
 * of the cancellation.
 *
 * @throws when the task no longer belongs to this daemon, and when an effect fails
 * @example
 * import { systemClock } from '@beaver/core'
 * import { failurePolicies } from '@beaver/core/supervision'
 * import { memoryHost, rootSpec, scriptedProvider } from '@beaver/testing'
 *
 * const services: LoopServices = {
 *   providers: onlyProvider(scriptedProvider([{ content: 'Twice a day.' }])),
 *   tools: [],
 *   skills: [],
 *   definitions: [],
 *   profiles: new Map(),
 *   profileDefault: null,
 *   failurePolicies,
 *   clock: systemClock,
 *   random: Math.random,
 *   toolTimeoutMs: 60_000,
 *   permissions: [],
 *   skillSelection: 'off',
 * }
 * const host = memoryHost()
 * const { status, facts } = await runAgentLoop(rootSpec(), services, host, AbortSignal.timeout(60_000))
 * status // => 'completed'
 * facts.outputText // => 'Twice a day.'
 * host.types.at(-1) // => 'run_completed'
 */
export async function runAgentLoop(
  spec: LoopSpec,
  services: LoopServices,
  host: LoopHost,
  signal: AbortSignal,
): Promise<LoopEnd> {
  const known = spec.resume === null ? null : foldRun(spec.resume)
  if (known !== null && runEnded(known)) return loopEndOf(known, factsWanted(spec))
  return new AgentLoop({ spec, services, host, signal }, known).run()
}

type EffectName = keyof LoopEffects

/** The states in which an effect begins. */
const statesOf: Readonly<Record<EffectName, readonly RunState['status'][]>> = {
  assemble: ['assembling'],
  think: ['thinking'],
  act: ['acting', 'waiting_for_approval', 'waiting_for_answer', 'waiting_for_client'],
  finalize: ['finalizing'],
}

/**
 * A run that has not ended: its machine, and the effects that the machine begins. The closures are made once,
 * not for each step.
 */
class AgentLoop {
  readonly #work: LoopWork
  readonly #settleCalls: (run: RunState) => Promise<void>
  readonly #actor: Actor<typeof loopMachine>
  readonly #requirements: readonly EvidenceRequirement[]
  readonly #resumed: boolean
  readonly #over = Promise.withResolvers<LoopEnd>()
  /** How many states with an effect were entered. */
  #entered = 0

  /** @param known the run as the journal has it; `null`: it has not begun */
  constructor(parts: Pick<LoopWork, 'spec' | 'services' | 'host' | 'signal'>, known: RunState | null) {
    const { spec, services } = parts
    const assembly = assemblyOf(spec, services, known?.start ?? null)
    const run = known ?? newRun(spec, assembly, services.egress ?? defaultEgressRules)
    this.#resumed = known !== null
    this.#requirements = factsWanted(spec)
    this.#work = this.#workOn(parts, { assembly, start: run.start })
    this.#settleCalls = callSettler(
      this.#work,
      new Set(run.calls.filter((call) => call.started).map((call) => call.id)),
    )
    const input: LoopContext = {
      run,
      lastResult: spec.resume?.findLast((each) => each.type === 'tool_result_recorded')?.data ?? null,
      effects: {
        assemble: () => this.#begin('assemble'),
        think: () => this.#begin('think'),
        act: () => this.#begin('act'),
        finalize: () => this.#begin('finalize'),
      },
    }
    this.#actor = createActor(
      loopMachine,
      known === null
        ? { input }
        : { input, snapshot: loopMachine.resolveState({ value: known.status, context: input }) },
    )
  }

  run(): Promise<LoopEnd> {
    const { promise, resolve, reject } = this.#over
    this.#actor.subscribe({
      next: ({ status, context }) => {
        if (status === 'done') resolve(loopEndOf(context.run, this.#requirements))
      },
      error: reject,
    })
    this.#actor.start()
    this.#work.host.shows?.(() => this.#actor.getSnapshot().value)
    // A restored state does not run its entry action, so this event begins its effect again.
    if (this.#resumed) this.#actor.send({ type: 'loop.resumed' })
    return promise
  }

  /** What the effects work with: the parts of the run, and the machine behind functions. */
  #workOn(
    parts: Pick<LoopWork, 'spec' | 'services' | 'host' | 'signal'>,
    { assembly, start }: Pick<LoopWork, 'assembly' | 'start'>,
  ): LoopWork {
    const { spec, services, host } = parts
    let admitted = spec.admitted
    return {
      ...parts,
      assembly,
      start,
      files: filesToFind(requirementsOfRun(spec)),
      madeAhead: new Map(),
      reservation: { granted: null, bound: null, answered: null, refused: null },
      live: spec.stream ? liveText(services.clock, host.delta) : null,
      takeAdmission() {
        const had = admitted
        admitted = false
        return had
      },
      run: () => this.#run,
      lastResult: () => this.#actor.getSnapshot().context.lastResult,
      record: (events) => this.#record(events),
      receive: (recorded, taskseq) => this.#step([recorded], taskseq),
      isTool: (name) =>
        isWorkflowTool(name) ||
        assembly.tools.has(name) ||
        [...services.tools, ...services.definitions].some((each) => each.name === name),
    }
  }

  get #run(): RunState {
    return this.#actor.getSnapshot().context.run
  }

  async #record(events: readonly DomainEvent[]): Promise<void> {
    const steers = this.#work.host.steers?.() ?? []
    const written = unlessSteered(this.#run, events, steers).map(drafted)
    const kept = written.map(({ event }) => event)
    const drafts = written.map(({ draft }) => draft)
    const appended = await this.#work.host.append(
      drafts,
      endWith(this.#run, kept, this.#requirements),
      this.#callAfter(kept),
    )
    if (appended === null)
      return this.#record(steeredOn(kept, steerMessages(this.#run, this.#work.host.steers?.() ?? [])))
    this.#work.reservation.granted = appended.granted
    this.#step(kept, appended.first)
  }

  /** The call of a model to which these events lead, if calls are reserved. */
  #callAfter(events: readonly DomainEvent[]): ModelCall | null {
    if (this.#work.spec.budgeted === undefined) return null
    const last = events.at(-1)?.type
    // A run that thinks and is steered has its reservation. The results of pure tools come with their answer.
    const begins = last === 'user_message_added' && this.#run.status !== 'thinking'
    if (!begins && last !== 'tool_result_recorded') return null
    const run = events.reduce((state, each) => evolveRun(state, each, { taskseq: 0 }), this.#run)
    return run.status === 'thinking' ? callOf(this.#work, run) : null
  }

  #step(events: readonly DomainEvent[], first: number): void {
    for (const step of stepsOf(this.#run, events, first)) this.#actor.send(step)
  }

  /**
   * Begins a state's effect after all events recorded with the one that entered the state were received,
   * because they may lead to another state. An effect that fails is a broken invariant or a lost task: the
   * loop ends, and its supervisor decides.
   */
  #begin(name: EffectName): void {
    const entered = ++this.#entered
    queueMicrotask(() => {
      const { status, value, context } = this.#actor.getSnapshot()
      if (entered !== this.#entered || status !== 'active' || !statesOf[name].includes(value)) return
      this.#effect(name, context.run).catch((error: unknown) => {
        this.#actor.stop()
        this.#over.reject(error)
      })
    })
  }

  #effect(name: EffectName, run: RunState): Promise<void> {
    switch (name) {
      case 'assemble':
        return assemble(this.#work, this.#resumed)
      case 'think':
        return think(this.#work, run)
      case 'act':
        return this.#settleCalls(run)
      case 'finalize':
        return finalize(this.#work, run)
      default:
        return name satisfies never
    }
  }
}

function newRun(spec: LoopSpec, assembly: Assembly, rules: EgressRules): RunState {
  const { profile, tools, workflows } = assembly
  const { repeats_max: configured, ...start } = withDescriptions(
    withImages(withMemory(spec), spec, rules),
    spec,
    assembly,
  )
  const repeatsMax = profile?.repeatsMax === undefined ? configured : profile.repeatsMax
  return startRun({
    ...start,
    max_tool_iterations: profile?.maxToolIterations ?? spec.start.max_tool_iterations,
    ...(repeatsMax === undefined || repeatsMax === null ? {} : { repeats_max: repeatsMax }),
    tools: [...tools.keys(), ...workflows.keys()],
    ...(profile?.model === undefined || spec.start.model !== undefined ? {} : { model: profile.model }),
    ...(answersInOwnForm(spec.start.output_schema, profile?.outputSchema)
      ? { output_schema: profile?.outputSchema }
      : {}),
    ...(profile?.modelSettings === undefined
      ? {}
      : { model_settings: { ...profile.modelSettings, ...spec.start.model_settings } }),
  })
}

/**
 * The form that the task asks for wins over that of the profile, unless the task asks for any object, and the
 * profile says which.
 */
function answersInOwnForm(asked: JsonObject | undefined, own: JsonObject | undefined): own is JsonObject {
  if (own === undefined) return false
  return (
    asked === undefined ||
    (own['type'] === 'object' && asked['type'] === 'object' && Object.keys(asked).length === 1)
  )
}

/** What is remembered of the user is not public. */
function withMemory({ start, memory }: LoopSpec): LoopSpec['start'] {
  if ('unreadable' in memory || (memory.memory.length === 0 && memory.user.length === 0)) return start
  return { ...start, taint: { ...(start.taint ?? cleanTaint), public: false } }
}

/**
 * An image has the labels that a file tool gives to the text of its path. What a person shows is not public.
 */
function withImages(start: LoopSpec['start'], { part }: LoopSpec, rules: EgressRules): LoopSpec['start'] {
  const images = part.kind === 'root' ? (part.images ?? []) : []
  if (images.length === 0) return start
  const names = images.flatMap(({ name }) => name ?? [])
  const source = (name: string): string => `image ${visible(name)}`
  const untrusted = names.filter((name) => isUntrustedPath(name, rules)).map(source)
  const secret = names.filter((name) => isSecretPath(name, rules)).map(source)
  return { ...start, taint: joinTaints([start.taint ?? cleanTaint, { untrusted, secret, public: false }]) }
}

/** Each request has the descriptions of the tools that are sent, and some of them are strangers' text. */
function withDescriptions(
  start: LoopSpec['start'],
  { part }: LoopSpec,
  { tools, further }: Assembly,
): LoopSpec['start'] {
  if (part.kind === 'tool') return start
  const untrusted = [...tools.values()].flatMap(({ name, describedBy }) =>
    describedBy === undefined || further.has(name) ? [] : [describedBy],
  )
  if (untrusted.length === 0) return start
  return { ...start, taint: joinTaints([start.taint ?? cleanTaint, { ...cleanTaint, untrusted }]) }
}

/**
 * How the run ends with these events, or `null` if it continues. The places of the events in the log are not
 * known yet.
 */
function endWith(
  run: RunState,
  events: readonly DomainEvent[],
  requirements: readonly EvidenceRequirement[],
): LoopEnd | null {
  const last = events.at(-1)?.type
  if (last !== 'run_completed' && last !== 'run_failed' && last !== 'run_cancelled') return null
  return loopEndOf(
    events.reduce((state, each) => evolveRun(state, each, { taskseq: 0 }), run),
    requirements,
  )
}

/** Returns `null` if the run was authorised but never began. */
function foldRun(events: readonly RecordedEvent[]): RunState | null {
  const [first, ...rest] = events
  if (first?.type !== 'run_started') return null
  return rest.reduce((run, each) => evolveRun(run, each, each), startRun(first.data))
}

// Begins a run: gathers what it is given, once, and records it in one entry in the order of AL-10 (skills,
// prompt, memory: ME-03, ME-04). Before a model or an endpoint is asked for skills, the run's start, and with
// it the task's claim, is durable in an entry of its own.

type AgentPart = Exclude<LoopPart, { kind: 'tool' }>

/**
 * @param begunBefore whether the run's start is recorded already: the run is resumed after it stopped while
 * its skills were being chosen
 */
async function assemble(work: LoopWork, begunBefore: boolean): Promise<void> {
  const { part } = work.spec
  if (part.kind === 'tool') return work.record(await withPureResults(work, await toolNodeEvents(work, part)))
  let begun = begunBefore
  const activation = await activated(work, part, async () => {
    if (begun) return
    begun = true
    await work.record(startEvents(work))
  })
  return work.record([...(begun ? [] : startEvents(work)), ...beginning(work, part, activation)])
}

function startEvents({ start, assembly }: LoopWork): DomainEvent[] {
  return [
    event('run_started', start, start.run_id),
    ...(assembly.scope === null ? [] : [event('tool_scope_applied', assembly.scope, start.run_id)]),
  ]
}

/** A run that is cancelled meanwhile begins without skills and ends in its first turn. */
async function activated(
  work: LoopWork,
  part: AgentPart,
  beforeAsking: () => Promise<void>,
): Promise<Activation> {
  const { services, start, assembly, signal } = work
  const none: Activation = { skills: [], selection: null }
  const asking: Asking = {
    ...{ signal, mark: frameMark(start.run_id), beforeAsking },
    reserve: (provider, request) => reservedRequest(work, provider, request),
    reserveEmbedding: (provider, texts) => reserveEmbedding(work, provider, texts),
    async onPaid({ provider, model, usage }) {
      const data = { purpose: 'skill_selection', provider_name: provider, model, usage } as const
      await work.record([event('model_call_paid', data, start.run_id)])
    },
  }
  if (assembly.profileMissing !== null || signal.aborted)
    return part.skill === null ? none : activate(part, services, asking)
  try {
    return await activate(part, services, asking)
  } catch (error) {
    if (signal.aborted) return none
    throw error
  }
}

function beginning(
  { spec, start, assembly, services }: LoopWork,
  part: AgentPart,
  { skills, selection }: Activation,
): DomainEvent[] {
  const runId = start.run_id
  const mark = frameMark(runId)
  const sections = promptSections({
    mark,
    agentName: start.agent_name,
    sessionId: spec.sessionId,
    taskId: spec.taskId,
    workspace: spec.workspace,
    at: { ms: services.clock.now(), timeZone: spec.timeZone ?? null },
    worker: part.kind === 'worker',
    // The nodes of other workflows work alone: they are not told of each other.
    team: spec.teamContext?.workflow === 'AgentTeam' ? spec.teamContext : undefined,
    teams: assembly.teams,
    offers: (tool) => assembly.workflows.has(tool),
    own: part.kind === 'worker' ? part.systemPrompt : (assembly.profile?.systemPrompt ?? ''),
    memory: spec.memory,
    // A run without a workflow tool has nothing to route to (D-02).
    routing: routingSkills(skills, assembly),
    requiredEvidence: part.kind === 'root' ? spec.taskEvidence : undefined,
    outputSchema: start.output_schema,
    instructions: part.kind === 'root' ? part.instructions : undefined,
  })
  const activations = skills.map(({ name, sha256, body, fromWorkspace }) => ({
    name,
    sha256,
    content: body,
    ...(fromWorkspace === true ? { from_workspace: true } : {}),
  }))
  const content = part.kind === 'root' ? part.text : workerMessage(part, mark)
  const outputs =
    part.kind === 'root' ? [] : outputCuts(content, mark, services.outputsCharsMax ?? outputsCharsMaxDefault)
  const images = part.kind === 'root' ? (part.images ?? []) : []
  const context = contextCosts({
    sections,
    skills: activations,
    history: spec.history,
    message: content,
    images,
    mark,
    toolsTokens: assembly.toolsTokens,
  })
  return [
    ...(selection === null ? [] : [event('skill_selection_recorded', selection, runId)]),
    ...(activations.length === 0
      ? []
      : [event('skill_activation_snapshotted', { skills: activations }, runId)]),
    event('system_prompt_snapshotted', { content: joinSections(sections), context }, runId),
    event('user_message_added', { content, ...(images.length === 0 ? {} : { images: [...images] }) }, runId),
    ...(outputs.length === 0
      ? []
      : [event('context_compacted', { results: [], outputs: [...outputs] }, runId)]),
  ]
}

/** The whole run of a tool node is this call. */
async function toolNodeEvents(
  work: LoopWork,
  { tool, arguments: args }: Extract<LoopPart, { kind: 'tool' }>,
): Promise<DomainEvent[]> {
  const { start } = work
  const call = { id: `${start.run_id}-call`, name: tool, arguments: JSON.stringify(args) }
  const described = await describedWork(work, call)
  const authorisation: Authorisation =
    // The run was cancelled meanwhile, and so is the call.
    described === null
      ? { kind: 'unknown' }
      : await showCall(described, call, authorise(call, authorityOf(startRun(start), described)))
  return [
    event('run_started', start, start.run_id),
    event('tool_call_requested', { call }, start.run_id),
    // A call that is reserved begins when it has its place.
    ...(authorisation.kind === 'start' && work.spec.budgeted?.toolCalls === true
      ? []
      : authorisationEvents(start.run_id, call, authorisation)),
  ]
}

// Estimates how many tokens each part of a run's first prompt costs, for people who want to know where the
// tokens go (`beaver show`).

/**
 * The parts in the order in which the model reads them, the tools last. Parts that cost nothing are left out.
 */
function contextCosts(content: {
  readonly sections: readonly PromptSection[]
  readonly skills: readonly { readonly name: string; readonly content: string }[]
  readonly history: readonly ChatMessage[]
  readonly message: string
  /** What the message shows. */
  readonly images: readonly ImagePart[]
  readonly mark: string
  readonly toolsTokens: number
}): ContextPart[] {
  const sum = (messages: readonly ChatMessage[]): number =>
    messages.reduce((tokens, { content }) => tokens + estimateTokens(content ?? ''), 0)
  const costs: [ContextPart['part'], number][] = [
    ...content.sections.map(({ part, text }): [ContextPart['part'], number] => [part, estimateTokens(text)]),
    [
      'skills',
      content.skills.length === 0 ? 0 : sum(content.skills.map((skill) => skillMessage(skill, content.mark))),
    ],
    ['history', sum(content.history)],
    [
      'message',
      content.images.reduce((tokens, image) => tokens + imageTokens(image), estimateTokens(content.message)),
    ],
    ['tools', content.toolsTokens],
  ]
  return costs.flatMap(([part, tokens_estimated]) =>
    tokens_estimated === 0 ? [] : [{ part, tokens_estimated }],
  )
}

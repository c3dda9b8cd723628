// The AgentLoop: runs the loop machine with its effects. Each effect has a file of its own (assemble, think, settle-call, finalize).
// L1. An event is durable before anything that it authorises begins. A tool starts after its `tool_call_started`, except for a pure tool
// (pure-calls.ts). An answer is used after its `assistant_message_added`.
// L2. What is journaled is not done again: no provider answer is requested twice.
// L3. After a crash, a tool call that had begun runs again only if the tool is idempotent. Otherwise its outcome is in doubt.
// L4. A loop ends once: the promise resolves with how the run ended, or rejects if the task no longer belongs to this daemon.
import { type DomainEvent, draft, type EvidenceRequirement, evolveRun, filesToFind, type RecordedEvent, runEnded, type RunState, startRun } from '@beaver/core'
import { isWorkflowTool } from '@beaver/workflows'
import { createActor } from 'xstate'
import { assemble } from './assemble.ts'
import { assemblyOf } from './assembly.ts'
import { finalize } from './finalize.ts'
import { liveText } from './live-text.ts'
import { type LoopContext, type LoopEvent, loopMachine, stepsOf } from './loop-machine.ts'
import type { LoopServices } from './loop-services.ts'
import { type LoopEnd, type LoopHost, loopEndOf, type LoopSpec, requirementsOfPart } from './loop-spec.ts'
import type { LoopWork } from './loop-work.ts'
import { callSettler } from './settle-call.ts'
import { think } from './think.ts'

/**
 * Runs one AgentLoop to its end. Aborting `signal` cancels the run, and the reason of the abort is the text of the cancellation.
 *
 * @throws when the task no longer belongs to this daemon, and when an effect fails
 * @example
 * import { failurePolicies, systemClock } from '@beaver/core'
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
export function runAgentLoop(spec: LoopSpec, services: LoopServices, host: LoopHost, signal: AbortSignal): Promise<LoopEnd> {
  return new Promise((resolve, reject) => {
    const assembly = assemblyOf(spec, services)
    const known = spec.resume === null ? null : foldRun(spec.resume)
    const requirements = requirementsOfPart(spec.part)
    if (known !== null && runEnded(known)) return resolve(loopEndOf(known, requirements))
    const initial =
      known ??
      startRun({
        ...spec.start,
        max_tool_iterations: assembly.profile?.maxToolIterations ?? spec.start.max_tool_iterations,
        tools: [...assembly.tools.keys(), ...assembly.workflows.keys()],
      })
    let admitted = spec.admitted
    const work: LoopWork = {
      spec,
      services,
      host,
      signal,
      assembly,
      start: initial.start,
      files: filesToFind(requirements),
      madeAhead: new Map(),
      live: spec.stream ? liveText(services.clock, host.delta) : null,
      takeAdmission() {
        const had = admitted
        admitted = false
        return had
      },
      run: () => actor.getSnapshot().context.run,
      lastResult: () => actor.getSnapshot().context.lastResult,
      async record(events) {
        const first = await host.append(events.map(draft), endWith(work.run(), events, requirements))
        for (const step of stepsOf(events, first)) actor.send(step)
      },
      receive: (recorded, taskseq) => actor.send({ type: recorded.type, recorded, taskseq } as LoopEvent),
      isTool: (name) => isWorkflowTool(name) || assembly.tools.has(name) || [...services.tools, ...services.definitions].some((each) => each.name === name),
    }
    const settleCalls = callSettler(work, new Set(initial.calls.filter((call) => call.started).map((call) => call.id)))
    const input: LoopContext = {
      run: initial,
      lastResult: spec.resume?.findLast((each) => each.type === 'tool_result_recorded')?.data ?? null,
      effects: {
        assemble: () => effect(['assembling'], () => assemble(work, known !== null)),
        think: () => effect(['thinking'], (run) => think(work, run)),
        act: () => effect(['acting', 'waiting_for_approval'], settleCalls),
        finalize: () => effect(['finalizing'], (run) => finalize(work, run)),
      },
    }
    const actor = createActor(loopMachine, known === null ? { input } : { input, snapshot: loopMachine.resolveState({ value: known.status, context: input }) })

    /**
     * Begins a state's effect after all events recorded with the one that entered the state were received, because they may lead to another state.
     * An effect that fails is a broken invariant or a lost task: the loop ends, and its supervisor decides.
     */
    function effect(states: readonly RunState['status'][], begin: (run: RunState) => Promise<void>): void {
      queueMicrotask(() => {
        const { status, value, context } = actor.getSnapshot()
        if (status !== 'active' || !states.includes(value)) return
        begin(context.run).catch((error: unknown) => {
          actor.stop()
          reject(error as Error)
        })
      })
    }

    actor.subscribe({
      next: ({ status, context }) => {
        if (status === 'done') resolve(loopEndOf(context.run, requirements))
      },
      error: reject,
    })
    actor.start()
    // A restored state does not run its entry action, so this event begins its effect again.
    if (known !== null) actor.send({ type: 'loop.resumed' })
  })
}

/** How the run ends with these events, or `null` if it continues. The places of the events in the log are not known yet. */
function endWith(run: RunState, events: readonly DomainEvent[], requirements: readonly EvidenceRequirement[]): LoopEnd | null {
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

// The AgentLoop's effects: what happens on entering each state of the loop machine.
// L1. Every event is durable before what it authorises begins: a tool starts after its `tool_call_started`, an answer is used
//     after its `assistant_message_added`. L2. What is journaled is not done again: no provider answer is asked for twice.
// L3. After a crash a tool call that had begun is run again only if the tool is idempotent; else its outcome is in doubt.
// L4. One end: the promise resolves with how the run ended, or rejects when the task is no longer ours.
import {
  type Clock,
  type DomainEvent,
  draft,
  event,
  evolveRun,
  messageOf,
  noUsage,
  type OpenCall,
  pause,
  type RecordedEvent,
  retryPauseMs,
  runEnded,
  type RunState,
  startRun,
} from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { createActor } from 'xstate'
import { conversation, systemPrompt, workerMessage } from '../context/context-builder.ts'
import { type ChatAnswer, type ChatProvider, ProviderError } from '../provider/chat-provider.ts'
import type { Skill } from '../skills/skill.ts'
import { executeTool, failedResult, type ToolResult } from '../tools/execute-tool.ts'
import type { Tool } from '../tools/tool.ts'
import { assemblyOf, findIn } from './assembly.ts'
import { afterAnswer, finalEvents, iterationsExhausted, policyOf, providerFailed, resultEvent } from './decide.ts'
import { type LoopContext, type LoopEvent, loopMachine } from './loop-machine.ts'
import { type LoopEnd, type LoopHost, loopEndOf, type LoopSpec } from './loop-spec.ts'

/** What all loops of a worker share. */
export interface LoopServices {
  readonly provider: ChatProvider
  readonly tools: readonly Tool[]
  readonly skills: readonly Skill[]
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly toolTimeoutMs: number
}

/** Runs one AgentLoop to its end. Aborting `signal` cancels the run; the reason is its text. */
export function runAgentLoop(spec: LoopSpec, services: LoopServices, host: LoopHost, signal: AbortSignal): Promise<LoopEnd> {
  return new Promise((resolve, reject) => {
    const setup = assemblyOf(spec, services)
    const runId = spec.start.run_id
    const known = spec.resume === null ? null : foldRun(spec, spec.resume)
    if (known !== null && runEnded(known)) return resolve(loopEndOf(known))
    const initial = known ?? startRun({ ...spec.start, tools: setup.schemas.map((tool) => tool.name) })
    /** Calls that had begun before this loop was taken up. */
    const takenUp = new Set(initial.calls.filter((call) => call.started).map((call) => call.id))
    const input: LoopContext = {
      run: initial,
      effects: {
        assemble: () => effect('assembling', assemble),
        think: () => effect('thinking', think),
        act: () => effect('acting', act),
        finalize: () => effect('finalizing', (run) => record(finalEvents(run, answerOf(run)))),
      },
    }
    const actor = createActor(loopMachine, known === null ? { input } : { input, snapshot: loopMachine.resolveState({ value: known.status, context: input }) })

    /**
     * Begins a state's effect once the events recorded with the one that entered it are in: they may have led on already.
     * An effect that fails is a broken invariant or a lost task: the loop ends, its supervisor decides.
     */
    function effect(state: RunState['status'], begin: (run: RunState) => Promise<void>): void {
      queueMicrotask(() => {
        const snapshot = actor.getSnapshot()
        if (snapshot.status !== 'active' || snapshot.value !== state) return
        begin(snapshot.context.run).catch((error: unknown) => {
          actor.stop()
          reject(error as Error)
        })
      })
    }

    async function record(events: readonly DomainEvent[]): Promise<void> {
      const first = await host.append(events.map(draft), endWith(actor.getSnapshot().context.run, events))
      for (const [i, recorded] of events.entries()) actor.send({ type: recorded.type, recorded, taskseq: first + i } as LoopEvent)
    }

    const cancelled = (run: RunState): DomainEvent[] => [
      event('run_cancelled', { reason: reasonOf(signal), tool_iterations: run.toolIterations, usage: run.usage }, runId),
    ]

    async function assemble(): Promise<void> {
      const routing = setup.routingSkills
      const prompt = systemPrompt({
        agentName: spec.start.agent_name,
        sessionId: spec.sessionId,
        taskId: spec.taskId,
        workspace: spec.workspace,
        worker: spec.part.kind === 'worker',
        routing,
      })
      const content = spec.part.kind === 'root' ? spec.part.text : workerMessage(spec.part)
      await record([
        event('run_started', initial.start, runId),
        ...(setup.scope === null ? [] : [event('tool_scope_applied', setup.scope, runId)]),
        ...(setup.activated.length === 0
          ? []
          : [event('skill_activation_snapshotted', { skills: setup.activated.map(({ name, sha256, body }) => ({ name, sha256, content: body })) }, runId)]),
        event('system_prompt_snapshotted', { content: prompt }, runId),
        event('user_message_added', { content }, runId),
      ])
    }

    async function think(run: RunState): Promise<void> {
      if (signal.aborted) return record(cancelled(run))
      if (run.toolIterations >= run.start.max_tool_iterations) return record(iterationsExhausted(run))
      const tools = run.executionMode === 'single' ? setup.lockedSchemas : setup.schemas
      for (let tries = run.tries; ;) {
        const begun = services.clock.now()
        try {
          const answer = await services.provider.chat({ messages: conversation(run, spec.history), tools, signal })
          return await record(decideAnswer(run, answer, services.clock.now() - begun))
        } catch (error) {
          if (signal.aborted) return record(cancelled(run))
          if (!(error instanceof ProviderError)) throw error
          tries++
          const retryAfterMs = error.retryAfterMs
          const pauseMs = retryPauseMs(policyOf(error), { tries, random: services.random(), ...(retryAfterMs === null ? {} : { retryAfterMs }) })
          if (pauseMs === null) return record(providerFailed(run, error, tries))
          const failure = { class: error.class, message: error.message }
          await record([event('provider_call_failed', { failure, tries, retry_in_ms: pauseMs, status: error.status }, runId)])
          await pause(services.clock, pauseMs, signal)
        }
      }
    }

    function decideAnswer(run: RunState, answer: ChatAnswer, durationMs: number): DomainEvent[] {
      return afterAnswer(run, answer, {
        taskId: spec.taskId,
        provider: services.provider.name,
        durationMs: Math.round(durationMs),
        routing: setup.routing,
        // A workflow call taken up again finds the team it started: running it twice gives the same team.
        idempotent: (name) => findIn(setup.workflows, name) !== undefined || setup.tools.get(name)?.idempotent === true,
        known: (name) => findIn(setup.workflows, name) !== undefined || setup.tools.has(name),
      })
    }

    async function act(run: RunState): Promise<void> {
      await Promise.all(run.calls.filter((call) => call.result === null).map(settleCall))
    }

    async function settleCall(call: OpenCall): Promise<void> {
      const begun = services.clock.now()
      const inDoubt = takenUp.has(call.id) && !call.idempotent
      const result = signal.aborted
        ? failedResult(call.name, 'cancelled', 'The run was cancelled.')
        : inDoubt
          ? failedResult(
              call.name,
              'in_doubt',
              `${call.name} had begun when its process died; whether it took effect is not known. Check before you call it again.`,
            )
          : await runCall(call)
      await record([resultEvent(runId, call.id, result, Math.round(services.clock.now() - begun))])
    }

    function runCall(call: OpenCall): Promise<ToolResult> {
      const workflow = findIn(setup.workflows, call.name)
      if (workflow !== undefined) return runWorkflow(workflow, call)
      const context = { workspace: spec.workspace, taskId: spec.taskId, sessionId: spec.sessionId, runId, callId: call.id }
      return executeTool(setup.tools.get(call.name), call, context, { timeoutMs: services.toolTimeoutMs, signal, clock: services.clock })
    }

    async function runWorkflow(workflow: Workflow, call: OpenCall): Promise<ToolResult> {
      let args: unknown
      try {
        args = JSON.parse(call.arguments)
      } catch (error) {
        return failedResult(call.name, 'invalid_arguments', `The arguments are not JSON (${messageOf(error)}). Send one JSON object.`)
      }
      const plan = workflow.plan(args)
      if (!plan.ok)
        return {
          success: false,
          tool_name: call.name,
          error: plan.error.code,
          content: JSON.stringify({ error: plan.error.code, message: plan.error.message, path: plan.error.path }),
        }
      const missing = plan.graph.nodes.find((node) => node.use_skill !== undefined && !services.skills.some((skill) => skill.name === node.use_skill))
      if (missing !== undefined)
        return failedResult(
          call.name,
          'unknown_skill',
          `There is no skill ${JSON.stringify(missing.use_skill)}, which the agent ${JSON.stringify(missing.node_id)} is to use.`,
        )
      const team = await host.runTeam(call.id, plan.graph)
      return {
        success: team.outcome === 'complete',
        tool_name: call.name,
        error: team.outcome === 'complete' ? null : `team_${team.outcome}`,
        content: JSON.stringify(team),
      }
    }

    actor.subscribe({
      next: ({ status, context }) => {
        if (status === 'done') resolve(loopEndOf(context.run))
      },
      error: reject,
    })
    actor.start()
    // A restored state does not run its entry action: begin its effect again.
    if (known !== null) actor.send({ type: 'loop.resumed' })
  })
}

/** How the run ends with these events; `null` when it goes on. Places in the log are not known yet. */
function endWith(run: RunState, events: readonly DomainEvent[]): LoopEnd | null {
  const last = events.at(-1)?.type
  if (last !== 'run_completed' && last !== 'run_failed' && last !== 'run_cancelled') return null
  return loopEndOf(events.reduce((state, each) => evolveRun(state, each, 0), run))
}

/** The final answer of a run that was taken up between its answer and its end. Its usage is folded already. */
function answerOf(run: RunState): { content: string; finishReason: string; usage: typeof noUsage } {
  return { content: run.outputText, finishReason: run.finishReason ?? 'stop', usage: noUsage }
}

/** `null` when the run was authorised but never began. */
function foldRun(spec: LoopSpec, events: readonly RecordedEvent[]): RunState | null {
  const [first, ...rest] = events
  if (first?.type !== 'run_started') return null
  return rest.reduce((run, each) => evolveRun(run, each, each.taskseq), startRun(first.data))
}

function reasonOf(signal: AbortSignal): string {
  return typeof signal.reason === 'string' ? signal.reason : messageOf(signal.reason)
}

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
  type EvidenceRequirement,
  evolveRun,
  filesToFind,
  messageOf,
  noUsage,
  type OpenCall,
  pause,
  type RecordedEvent,
  retryPauseMs,
  runEnded,
  type RunState,
  type SessionSearchRequest,
  startRun,
} from '@beaver/core'
import { isWorkflowTool, readArgumentsText, skillsOf, type Workflow, type WorkflowLimits } from '@beaver/workflows'
import { createActor } from 'xstate'
import { conversation, systemPrompt, workerMessage } from '../context/context-builder.ts'
import { type ChatAnswer, ProviderError } from '../provider/chat-provider.ts'
import type { ProviderBundle } from '../provider/provider-bundle.ts'
import type { AgentProfile } from '../profile/agent-profile.ts'
import type { Skill } from '../skills/skill.ts'
import { executeTool, failedResult, type ToolResult } from '../tools/execute-tool.ts'
import type { ExternalCall } from '../tools/external-tools.ts'
import type { PermissionRule } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'
import { assemblyOf, findIn } from './assembly.ts'
import { afterAnswer, afterToolNode, finalEvents, iterationsExhausted, policyOf, profileMissing, providerFailed, resultEvent } from './decide.ts'
import { type LoopContext, type LoopEvent, loopMachine } from './loop-machine.ts'
import { findFiles } from './find-files.ts'
import { type LoopEnd, type LoopHost, loopEndOf, type LoopSpec, requirementsOfPart } from './loop-spec.ts'
import { workflowResult } from './workflow-result.ts'

/** What all loops of a worker share. */
export interface LoopServices {
  readonly providers: ProviderBundle
  readonly tools: readonly Tool[]
  readonly skills: readonly Skill[]
  /** The workflows of the loaded definition files: tools where a profile lists them. */
  readonly definitions: readonly Workflow[]
  readonly profiles: ReadonlyMap<string, AgentProfile>
  /** The profile of a root that names none; `null`: none. */
  readonly profileDefault: string | null
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly toolTimeoutMs: number
  /** Decide before the tools' own permissions do. */
  readonly permissions: readonly PermissionRule[]
  /** How a skill is found for a run that names none: recall and one model call, or not at all. */
  readonly skillSelection: 'model' | 'off'
  /** Bounds of the graph a workflow call asks for; what is absent is as `defaultWorkflowLimits` says. */
  readonly workflowLimits?: Partial<WorkflowLimits>
}

/** Runs one AgentLoop to its end. Aborting `signal` cancels the run; the reason is its text. */
export function runAgentLoop(spec: LoopSpec, services: LoopServices, host: LoopHost, signal: AbortSignal): Promise<LoopEnd> {
  return new Promise((resolve, reject) => {
    const setup = assemblyOf(spec, services)
    const runId = spec.start.run_id
    const known = spec.resume === null ? null : foldRun(spec, spec.resume)
    const requirements = requirementsOfPart(spec.part)
    const files = filesToFind(requirements)
    if (known !== null && runEnded(known)) return resolve(loopEndOf(known, requirements))
    const initial =
      known ??
      startRun({
        ...spec.start,
        max_tool_iterations: setup.profile?.maxToolIterations ?? spec.start.max_tool_iterations,
        tools: [...setup.tools.keys(), ...setup.workflows.keys()],
      })
    /** Calls that had begun before this loop was taken up. */
    const takenUp = new Set(initial.calls.filter((call) => call.started).map((call) => call.id))
    const input: LoopContext = {
      run: initial,
      effects: {
        assemble: () => effect('assembling', assemble),
        think: () => effect('thinking', think),
        act: () => effect('acting', act),
        finalize: () => effect('finalizing', finalize),
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
      const first = await host.append(events.map(draft), endWith(actor.getSnapshot().context.run, events, requirements))
      for (const [i, recorded] of events.entries()) actor.send({ type: recorded.type, recorded, taskseq: first + i } as LoopEvent)
    }

    const cancelled = (run: RunState): DomainEvent[] => [
      event('run_cancelled', { reason: reasonOf(signal), tool_iterations: run.toolIterations, usage: run.usage }, runId),
    ]

    async function assemble(): Promise<void> {
      if (spec.part.kind === 'tool') return requestTool(spec.part)
      const routing = setup.routingSkills
      const prompt = systemPrompt({
        agentName: spec.start.agent_name,
        sessionId: spec.sessionId,
        taskId: spec.taskId,
        workspace: spec.workspace,
        worker: spec.part.kind === 'worker',
        teams: setup.teams,
        own: spec.part.kind === 'worker' ? spec.part.systemPrompt : (setup.profile?.systemPrompt ?? ''),
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

    /** A tool node's whole run is this call. */
    async function requestTool({ tool, arguments: args }: Extract<LoopSpec['part'], { kind: 'tool' }>): Promise<void> {
      const call = { id: `${runId}-call`, name: tool, arguments: JSON.stringify(args) }
      const idempotent = setup.tools.get(tool)?.idempotent === true
      await record([
        event('run_started', initial.start, runId),
        event('tool_call_requested', { call }, runId),
        event('tool_call_started', { call_id: call.id, tool_name: tool, idempotent }, runId),
      ])
    }

    async function think(run: RunState): Promise<void> {
      if (signal.aborted) return record(cancelled(run))
      if (spec.part.kind === 'tool') return record(afterToolNode(run))
      if (setup.profileMissing !== null) return record(profileMissing(run, setup.profileMissing))
      if (run.toolIterations >= run.start.max_tool_iterations) return record(iterationsExhausted(run))
      const tools = run.executionMode === 'single' ? setup.lockedSchemas : setup.schemas
      for (let tries = run.tries; ;) {
        const begun = services.clock.now()
        try {
          const answer = await services.providers.main.chat({ messages: conversation(run, spec.history), tools, signal })
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
        provider: services.providers.main.name,
        durationMs: Math.round(durationMs),
        routing: setup.routing,
        // A workflow call taken up again finds the team it started: running it twice gives the same team.
        idempotent: (name) => findIn(setup.workflows, name) !== undefined || setup.tools.get(name)?.idempotent === true,
        known: (name) => findIn(setup.workflows, name) !== undefined || setup.tools.has(name),
        isTool,
        completesLater: files.length > 0,
      })
    }

    const isTool = (name: string): boolean =>
      isWorkflowTool(name) || setup.tools.has(name) || [...services.tools, ...services.definitions].some((each) => each.name === name)

    /** Reached when the answer's end is not recorded with it: facts are to be gathered first, or a crash came between. */
    async function finalize(run: RunState): Promise<void> {
      const final = finalEvents(run, answerOf(run), isTool)
      const wanted = files.length > 0 && final.every((each) => each.type === 'run_completed')
      const found = wanted ? [event('workspace_files_checked', { files: await findFiles(spec.workspace, files) }, runId)] : []
      await record([...found, ...final])
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
      const sharedState = spec.part.kind === 'worker' && spec.part.sharedState ? host.sharedState : null
      const context = {
        workspace: spec.workspace,
        taskId: spec.taskId,
        sessionId: spec.sessionId,
        runId,
        callId: call.id,
        sharedState,
        skills: services.skills,
        memory: host.memory,
        searchSessions: (request: Omit<SessionSearchRequest, 'session'>) => host.searchSessions({ ...request, session: spec.sessionId }),
        callExternal: (external: Omit<ExternalCall, 'callId'>, until: AbortSignal) => host.callExternal({ ...external, callId: call.id }, until),
      }
      return executeTool(setup.tools.get(call.name), call, context, { timeoutMs: services.toolTimeoutMs, signal, clock: services.clock })
    }

    async function runWorkflow(workflow: Workflow, call: OpenCall): Promise<ToolResult> {
      const args = readArgumentsText(call.arguments)
      const plan = args.ok ? workflow.plan(args.value, { limits: services.workflowLimits ?? {} }) : args
      if (!plan.ok)
        return {
          success: false,
          tool_name: call.name,
          error: plan.error.code,
          content: JSON.stringify({ error: plan.error.code, message: plan.error.message, path: plan.error.path }),
        }
      const missing = skillsOf(plan.graph).find(({ skill }) => !services.skills.some((each) => each.name === skill))
      if (missing !== undefined)
        return failedResult(
          call.name,
          'unknown_skill',
          `There is no skill ${JSON.stringify(missing.skill)}, which the agent ${JSON.stringify(missing.agent)} is to use.`,
        )
      const team = await host.runTeam(call.id, plan.graph)
      if ('refused' in team) return failedResult(call.name, team.refused.code, team.refused.message)
      return workflowResult(workflow, call.name, team)
    }

    actor.subscribe({
      next: ({ status, context }) => {
        if (status === 'done') resolve(loopEndOf(context.run, requirements))
      },
      error: reject,
    })
    actor.start()
    // A restored state does not run its entry action: begin its effect again.
    if (known !== null) actor.send({ type: 'loop.resumed' })
  })
}

/** How the run ends with these events; `null` when it goes on. Places in the log are not known yet. */
function endWith(run: RunState, events: readonly DomainEvent[], requirements: readonly EvidenceRequirement[]): LoopEnd | null {
  const last = events.at(-1)?.type
  if (last !== 'run_completed' && last !== 'run_failed' && last !== 'run_cancelled') return null
  return loopEndOf(
    events.reduce((state, each) => evolveRun(state, each, 0), run),
    requirements,
  )
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

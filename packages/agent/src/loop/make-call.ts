// Makes a call that may be made: an ordinary tool in this thread, a workflow as a team of the host. Every
// failure but the loss of the task is a result that the model can read. The result carries the labels of what
// the call read. A pure tool gets nothing of the host that it could change or read.
import {
  type Clock,
  type DomainEvent,
  event,
  type LiveProgress,
  noUsage,
  type PaidEmbedding,
  type SessionSearchRequest,
  teamRunId,
  type ToolCall,
} from '@beaver/core'
import { faultsText } from '@beaver/core/evidence'
import { noSuspects, type RunState, teamOutputTool } from '@beaver/core/fold'
import type { ExecutionGraph } from '@beaver/core/graph'
import { maskSecrets } from '@beaver/core/secrets'
import { joinTaints, type Taint } from '@beaver/core/taint'
import { knownTools, readArgumentsText, skillsOf, type Workflow } from '@beaver/workflows'
import { callImages } from '../images/call-images.ts'
import { defaultEgressRules } from '../taint/egress-rules.ts'
import { pathsNamed, taintOfResult } from '../taint/result-labels.ts'
import { readCallArguments } from '../tools/call-arguments.ts'
import { executeTool, failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { type CallProgress, newestProgress } from '../tools/newest-progress.ts'
import { permissionOnSubject } from '../tools/permission.ts'
import { teamOutput } from '../tools/team-output.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import type { AskPerson, ReadSource, Tool, ToolContext } from '../tools/tool.ts'
import { asksOf } from './ask-person.ts'
import { findIn } from './assembly.ts'
import { clientResult } from './client-call.ts'
import { filesFound } from './finalize.ts'
import type { TeamRunResult } from './loop-spec.ts'
import { type LoopWork, untilOurs } from './loop-work.ts'
import { resultEvent } from './result-event.ts'
import { finalEvents } from './run-ends.ts'
import { traceOfToolCall } from './told-trace.ts'
import { deliveredResult, workflowResult } from './workflow-result.ts'

/**
 * Returns the event of the call's result, and what follows from it if a team's text was delivered to the
 * user.
 */
export async function makeCall(work: LoopWork, call: ToolCall): Promise<DomainEvent[]> {
  const { clock } = work.services
  if (work.assembly.tools.get(call.name)?.pure !== true) await untilOurs(work)
  const begun = clock.now()
  const heard: Taint[] = []
  const told: ReadSource[] = []
  const paid: PaidEmbedding[] = []
  const tool = work.assembly.tools.get(call.name)
  const { workspace } = work.spec
  const args = readCallArguments(call.name, call.arguments)
  // Links are followed before the call, which may change them. A client's tool names no file of this workspace;
  // and without a look at the disk, the calls of an answer reach the client in their order.
  const named =
    tool === undefined || tool.pure === true || tool.atClient === true || !args.ok
      ? []
      : await pathsNamed(tool, args.value, workspace)
  const { delivery = [], ...result } = await resultOf(work, call, { heard, told, paid })
  const reads = { args: args.ok ? args : null, named, told, workspace }
  const own = await taintOfResult(tool, result, reads, work.services.egress ?? defaultEgressRules)
  const all = own === null ? heard : [...heard, own]
  return [
    resultEvent(
      work.start.run_id,
      call.id,
      result,
      Math.round(clock.now() - begun),
      all.length === 0 ? null : joinTaints(all),
    ),
    ...paid.map((each) =>
      event('model_call_paid', { purpose: 'knowledge_search', ...each }, work.start.run_id),
    ),
    ...delivery,
  ]
}

/** One for all calls, because each abort without a reason makes an error with a stack. */
const callOver = new DOMException('The call is over.', 'AbortError')

/** `delivery`: the events that deliver a team's text and end the run. */
interface MadeResult extends ToolResult {
  readonly delivery?: readonly DomainEvent[]
}

/** What is known of a call beside its result, while it runs. */
interface Heard {
  /** The labels of what the host gives to the call. */
  readonly heard: Taint[]
  /** What the tool tells. */
  readonly told: ReadSource[]
  /** What was paid for it. */
  readonly paid: PaidEmbedding[]
}

async function resultOf(work: LoopWork, call: ToolCall, { heard, told, paid }: Heard): Promise<MadeResult> {
  const { assembly, services, signal } = work
  const workflow = findIn(assembly.workflows, call.name)
  if (workflow !== undefined) return runWorkflow(work, workflow, call, heard)
  const own = assembly.tools.get(call.name)
  if (own?.atClient === true) return clientResult(work, own, call, (source) => void told.push(source))
  const tool = own?.name === teamOutputTool ? teamReader(work, heard) : own
  const { toolTimeoutMs: timeoutMs, clock, logger } = services
  const limits = {
    timeoutMs,
    signal,
    clock,
    logger,
    suspicions: suspicionsOf(work, tool),
    works: work.host.works,
  }
  const over = new AbortController()
  const ask = asksOf(work, call, over.signal)
  const permission: ToolContext['permission'] = (subject) =>
    permissionOnSubject(tool ?? { name: call.name }, subject, services.permissions)
  const images = callImages(work.host)
  const progress = callProgress(clock, (update) =>
    work.host.progress({ call_id: call.id, tool_name: call.name, ...update }),
  )
  const ofTool =
    tool?.pure === true
      ? nothingOfHost(tool)
      : {
          ...ofHost(work, call, { heard, paid, ask }),
          ...traceOfToolCall(work, call.id),
          showImage: images.show,
          progress: progress.tell,
        }
  const result = await executeTool(
    tool,
    call,
    { ...placeOf(work, call), permission, reads: (source) => void told.push(source), ...ofTool },
    limits,
  ).finally(() => {
    over.abort(callOver)
    progress.end()
  })
  return { ...result, images: images.shown() }
}

/** The tool of a root that reads what the teams of this run wrote. */
function teamReader({ host }: LoopWork, heard: Taint[]): Tool {
  return teamOutput(async (callId) => {
    const team = await host.teamOf(callId)
    if (team?.taint !== undefined) heard.push(team.taint)
    return team
  })
}

/** How often the tool may have cost this run its thread, or its task an owner. */
export function suspicionsOf({ spec, run, services }: LoopWork, tool: Tool | undefined): number {
  if (tool === undefined) return 0
  const { names, pure } = spec.suspectTools ?? noSuspects
  const ofTask = names.includes(tool.name) || (pure && tool.pure === true) ? 1 : 0
  const ofDaemon = services.suspectTools?.has(tool.name) === true ? 1 : 0
  return (run().suspectTools[tool.name] ?? 0) + ofTask + ofDaemon
}

const mayNotAsk: AskPerson = () =>
  Promise.reject(new ToolFailure('cannot_ask', 'This call cannot ask a person.'))

type OfHost = Pick<
  ToolContext,
  | 'sharedState'
  | 'skills'
  | 'memory'
  | 'searchSessions'
  | 'callExternal'
  | 'ask'
  | 'showImage'
  | 'progress'
  | 'trace'
>

function placeOf(
  { spec, start }: LoopWork,
  call: ToolCall,
): Omit<ToolContext, 'signal' | 'permission' | 'reads' | keyof OfHost> {
  return {
    workspace: spec.workspace,
    taskId: spec.taskId,
    sessionId: spec.sessionId,
    runId: start.run_id,
    callId: call.id,
    ...(spec.timeZone === undefined ? {} : { timeZone: spec.timeZone }),
    ...(spec.teamContext === undefined ? {} : { teamContext: spec.teamContext }),
  }
}

function nothingOfHost({ name }: Tool): OfHost {
  const refuse = (what: string) => (): Promise<never> =>
    Promise.reject(
      new ToolFailure(
        'not_pure',
        `${name} says that it is pure, but it asked for ${what}. Its author must leave out "pure".`,
      ),
    )
  return {
    sharedState: null,
    skills: [],
    memory: refuse('the memory'),
    searchSessions: refuse('earlier sessions'),
    callExternal: refuse('another tool'),
    ask: refuse('a person'),
    progress: () => {},
  }
}

function ofHost(
  { spec, services, host, run }: LoopWork,
  call: ToolCall,
  { heard, paid, ask }: Omit<Heard, 'told'> & { readonly ask: AskPerson },
): Omit<OfHost, 'progress'> {
  return {
    sharedState:
      spec.part.kind === 'worker' && spec.part.sharedState
        ? async (access) => {
            const { taint, ...result } = await host.sharedState(access, run().taint)
            if (taint !== undefined) heard.push(taint)
            return result
          }
        : null,
    skills: services.skills,
    memory: host.memory,
    async searchSessions(request: Omit<SessionSearchRequest, 'session'>) {
      const hits = await host.searchSessions({ ...request, session: spec.sessionId })
      // What agents and tools said may have come from strangers.
      if (hits.some(({ role }) => role !== 'user'))
        heard.push({ untrusted: ['earlier sessions'], secret: [], public: false })
      return hits
    },
    async callExternal(external, until, asking = mayNotAsk) {
      const { paid: some, ...result } = await host.callExternal(
        { ...external, callId: call.id },
        until,
        asking,
      )
      if (some !== undefined) paid.push(some)
      return result
    },
    ask,
  }
}

/**
 * The graph of the call, or why there is none. A call that began before a crash may have a team although it
 * cannot be planned any more: a tool or a skill is gone, for example. That team is not forsaken.
 */
function plannedGraph(
  { assembly, services }: LoopWork,
  workflow: Workflow,
  call: ToolCall,
): { graph: ExecutionGraph } | { refused: ToolResult } {
  const args = readArgumentsText(call.arguments)
  const limits = { ...services.workflowLimits, modelChoice: assembly.profile?.modelChoice ?? false }
  const plan = args.ok ? workflow.plan(args.value, { limits, tools: knownTools(assembly.workerTools) }) : args
  if (!plan.ok) {
    const { code, message, path } = plan.error
    return {
      refused: {
        success: false,
        tool_name: call.name,
        error: code,
        content: JSON.stringify({ error: code, message, path }),
      },
    }
  }
  const missing = skillsOf(plan.graph).find(
    ({ skill }) => !services.skills.some((each) => each.name === skill),
  )
  if (missing === undefined) return { graph: plan.graph }
  const message = `There is no skill ${JSON.stringify(missing.skill)}, which the agent ${JSON.stringify(missing.agent)} must use.`
  return { refused: failedResult(call.name, 'unknown_skill', message) }
}

async function runWorkflow(
  work: LoopWork,
  workflow: Workflow,
  call: ToolCall,
  heard: Taint[],
): Promise<MadeResult> {
  const { host, run, isTool } = work
  const planned = plannedGraph(work, workflow, call)
  const graph = 'refused' in planned ? null : planned.graph
  const team = await host.runTeam(call.id, graph, run().taint)
  if ('refused' in team)
    return 'refused' in planned
      ? planned.refused
      : failedResult(call.name, team.refused.code, team.refused.message)
  const { taint, ...result } = team
  if (taint !== undefined) heard.push(taint)
  if (graph?.deliver === undefined) return workflowResult(workflow, call, result)
  const fault = deliveryFault(run(), result, isTool)
  if (fault !== null) return workflowResult(workflow, call, result, fault)
  return {
    ...deliveredResult(call, result),
    delivery: deliveryEvents(run(), result, isTool, await filesFound(work)),
  }
}

// Passes on how far a call is while its tool runs, to the people who follow the task. newest-progress.ts
// decides how often. An update is bounded and contains no secret.

const messageCharsMax = 200
/**
 * More of a message is not looked at. It is so much more than is shown that no secret is cut in what is
 * shown.
 */
const readCharsMax = 20_000

/**
 * What the tool of a call tells its progress by.
 *
 * @param send passes an update on
 * @example
 * import { systemClock } from '@beaver/core'
 *
 * const sent: string[] = []
 * const call = callProgress(systemClock, ({ progress, total }) => void sent.push(`${progress} of ${total}`))
 * call.tell({ progress: 1, total: 4 })
 * call.end()
 * sent // => ['1 of 4']
 */
export function callProgress(
  clock: Clock,
  send: (update: Pick<LiveProgress, 'progress' | 'total' | 'message'>) => void,
): CallProgress {
  return newestProgress(clock, ({ progress, total, message }) => {
    const text =
      typeof message === 'string'
        ? maskSecrets(message.slice(0, readCharsMax)).trim().slice(0, messageCharsMax).toWellFormed()
        : ''
    send({
      progress,
      total: Number.isFinite(total) ? (total as number) : null,
      message: text === '' ? null : text,
    })
  })
}

// Delivers a team's text to the user: word for word, without another model call (D-61). Result, answer and
// end of the run are one entry, so no crash comes between them. Only a complete team with a text is
// delivered, if its call is the only one of its answer; otherwise the root goes on with the result, which
// says why.

/** The `finish_reason` of an answer that is a team's text. */
const deliveredFinish = 'delivered'

/** Why the text is not delivered. `null` if it can be. */
function deliveryFault(run: RunState, team: TeamRunResult, isTool: (name: string) => boolean): string | null {
  if (team.outcome !== 'complete')
    return `The team is not complete (${team.outcome}), so you go on with its result.`
  if (run.calls.length !== 1) return 'The answer had other calls, so you go on with all results.'
  const [end] = finalEvents(run, answerOf(team), isTool)
  if (end?.type === 'output_rejected')
    return `The text does not fit the JSON Schema of the answer (${faultsText(end.data.faults)}), so write the answer from it.`
  return end?.type === 'run_failed' ? `The text cannot be an answer: ${end.data.failure.message}` : null
}

/**
 * The answer and the end of the run, which follow the result of the call. @param found the facts that come
 * before the end
 */
function deliveryEvents(
  run: RunState,
  team: TeamRunResult,
  isTool: (name: string) => boolean,
  found: readonly DomainEvent[] = [],
): DomainEvent[] {
  const answer = event(
    'assistant_message_added',
    {
      content: team.final_output,
      tool_calls: [],
      finish_reason: deliveredFinish,
      usage: noUsage,
      provider_name: run.provider ?? '',
      model: run.model ?? '',
      response_id: null,
      duration_ms: 0,
      delivered_from: teamRunId.parse(team.team_run_id),
    },
    run.start.run_id,
  )
  return [answer, ...found, ...finalEvents(run, answerOf(team), isTool)]
}

const answerOf = ({ final_output }: TeamRunResult) => ({
  content: final_output,
  finishReason: deliveredFinish,
  usage: noUsage,
})

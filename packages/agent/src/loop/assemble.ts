// Begins a run: it gathers what the run is given, once, and records it in one entry in the order of AL-10.
// Before a model or an endpoint is asked for skills, the run's start is durable in an entry of its own, and
// with it the task's claim. From then on the run has what is recorded: its skills, its prompt, its memory
// (ME-03, ME-04).
import { type DomainEvent, event, frameMark, startRun } from '@beaver/core'
import { contextCosts } from '../context/context-costs.ts'
import { joinSections, promptSections, workerMessage } from '../context/context-builder.ts'
import { outputCuts, outputsCharsMaxDefault } from '../context/output-cuts.ts'
import { type Activation, activate, routingSkills } from './activation.ts'
import { type Authorisation, authorisationEvents, authorise, authorityOf } from './authorise.ts'
import { describedWork } from './described-work.ts'
import type { LoopWork } from './loop-work.ts'
import type { LoopPart } from './loop-spec.ts'
import { withPureResults } from './pure-calls.ts'
import { showCall } from './show-call.ts'

type AgentPart = Exclude<LoopPart, { kind: 'tool' }>

/**
 * @param begunBefore whether the run's start is recorded already: the run is resumed after it stopped while
 * its skills were being chosen
 */
export async function assemble(work: LoopWork, begunBefore: boolean): Promise<void> {
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
  { services, start, assembly, signal }: LoopWork,
  part: AgentPart,
  beforeAsking: () => Promise<void>,
): Promise<Activation> {
  const none: Activation = { skills: [], selection: null }
  const asking = { signal, mark: frameMark(start.run_id), beforeAsking }
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
  const given: Authorisation =
    // The run was cancelled meanwhile, and so is the call.
    described === null
      ? { kind: 'unknown' }
      : await showCall(described, call, authorise(call, authorityOf(startRun(start), described)))
  return [
    event('run_started', start, start.run_id),
    event('tool_call_requested', { call }, start.run_id),
    ...authorisationEvents(start.run_id, call, given),
  ]
}

// The fold of one team run from the journal, behind the stream and the report. It gets every event of the
// task, in order; the team is the one that `teamRunId` names, or the first.
import { type DomainEvent, isTerminalTaskEvent, type NodeOutput, type TaskResult } from '@beaver/core'
import { judgeOutput } from '@beaver/core/evidence'
import { evolveTeam, startTeam, type TeamNodeState, type TeamState } from '@beaver/core/fold'
import { type TeamProgram, teamOutput } from '@beaver/core/graph'
import type { Failure } from '@beaver/core/supervision'

export interface TeamJournal {
  taskId: string | null
  team: TeamState | null
  /** The texts of completed nodes. */
  readonly outputs: Map<string, string>
  /** The newest text of each run. */
  readonly texts: Map<string, string>
  /** The time at which each node completed. */
  readonly completedAt: Map<string, string>
  readonly diagnostics: { readonly code: string; readonly message: string }[]
  /** How the task ended. `null` until it has. */
  end: TaskResult | null
}

/** Which team of a task is followed. */
export interface TeamFollowOptions {
  /** Default: the first team of the task. */
  readonly teamRunId?: string
  /** The program of the workflow, if it takes part in the result. */
  readonly program?: TeamProgram | null
}

export const newTeamJournal = (): TeamJournal => ({
  taskId: null,
  team: null,
  outputs: new Map(),
  texts: new Map(),
  completedAt: new Map(),
  diagnostics: [],
  end: null,
})

/** Folds one more event. `time`: when it was written, RFC 3339, or `''` if this is unknown. */
export function takeEvent(
  journal: TeamJournal,
  event: DomainEvent,
  time: string,
  { teamRunId }: TeamFollowOptions,
): void {
  if (isTerminalTaskEvent(event.type)) journal.end = event.data as TaskResult
  switch (event.type) {
    case 'task_submitted':
      journal.taskId = event.data.task_id
      return
    case 'task_team_run_started':
      if (journal.team === null && (teamRunId === undefined || teamRunId === event.data.team_run_id))
        journal.team = startTeam(event.data, atMs(time))
      return
    case 'assistant_message_added':
      if (event.runId !== undefined) journal.texts.set(event.runId, event.data.content ?? '')
      return
    case 'tool_result_recorded':
      // The run of a tool node has no answer of a model, so the tool's result is its text.
      if (event.runId !== undefined && event.data.success && isToolRun(journal.team, event.runId))
        journal.texts.set(event.runId, event.data.content)
      return
    default:
      ofTeam(journal, event, time)
  }
}

function ofTeam(journal: TeamJournal, event: DomainEvent, time: string): void {
  const { team } = journal
  if (team === null || !('team_run_id' in event.data) || event.data.team_run_id !== team.start.team_run_id)
    return
  evolveTeam(team, event, { clockMs: atMs(time) })
  if (event.type === 'node_computed') journal.outputs.set(event.data.node_id, event.data.output)
  if (event.type === 'node_completed') {
    journal.outputs.set(
      event.data.node_id,
      handedOn(team, event.data.node_id, journal.texts.get(event.data.run_id) ?? ''),
    )
    journal.completedAt.set(event.data.node_id, time)
  }
  if (event.type === 'team_diagnostic_recorded')
    journal.diagnostics.push({ code: event.data.code, message: event.data.message })
}

/** The output of a node as others get it: the value in canonical JSON if the node has a schema. */
function handedOn({ graph }: TeamState, nodeId: string, output: string): string {
  const node = graph.nodes.find((each) => each.node_id === nodeId)
  if (node?.kind !== 'agent' || node.output_schema === undefined) return output
  const judged = judgeOutput(node.output_schema, output)
  return judged.kind === 'fits' ? judged.text : output
}

/** The result of the team so far. */
export function resultOf(
  { team, outputs }: TeamJournal,
  { program = null }: TeamFollowOptions,
): { final_output: string; outputs: NodeOutput[] } {
  return team === null ? { final_output: '', outputs: [] } : teamOutput(team, outputs, program)
}

/** A member that has no result, and why. */
export interface MemberFailure {
  readonly node_id: string
  /** `null` for a node that is no agent. */
  readonly member_name: string | null
  readonly failure: Failure
}

/** The members that failed, were cancelled or could not work, in the order of the graph. */
export function failuresIn({ team }: TeamJournal): MemberFailure[] {
  return (team?.graph.nodes ?? []).flatMap((of): MemberFailure[] => {
    const node = team?.nodes.get(of.node_id)
    const failure = node === undefined ? null : failureOf(node)
    return failure === null
      ? []
      : [{ node_id: of.node_id, member_name: of.kind === 'agent' ? of.agent.name : null, failure }]
  })
}

function failureOf({ status, failure, causeNodeId, cancelReason }: TeamNodeState): Failure | null {
  if (status === 'failed') return failure
  if (status === 'blocked')
    return {
      class: 'cancelled',
      message: `It never started: ${causeNodeId ?? 'what it depends on'} has no result.`,
    }
  return status === 'cancelled' ? { class: 'cancelled', message: cancelReason ?? 'It was cancelled.' } : null
}

function isToolRun(team: TeamState | null, runId: string): boolean {
  const nodeId = [...(team?.nodes ?? [])].find(([, node]) => node.runId === runId)?.[0]
  return team?.graph.nodes.find((node) => node.node_id === nodeId)?.kind === 'tool'
}

const atMs = (time: string): number => (time === '' ? 0 : Date.parse(time))

// What a loop reads of the team that it called: its result, or only the output of a `workflow:` tool (CT-15).
// A text reaches the loop once: an output that the final output contains is named, not repeated (D-61). The
// result is bounded, and a cut text says how to read the rest.
import { teamOutputReference } from '@beaver/core/fold'
import { definitionPrefix, joinedOutputs } from '@beaver/core/graph'
import type { Workflow } from '@beaver/workflows'
import type { ToolResult } from '../tools/execute-tool.ts'
import { boundedText, wholeEnd } from '../tools/result-text.ts'
import type { TeamRunResult } from './loop-spec.ts'

/** The limit of all texts of a team in one result. */
const textsCharsMax = 100_000
/** The limit of failures, of diagnostics, and of the characters of each. */
const remarksMax = 20
const remarkCharsMax = 500

/** The call of a workflow. `name`: the name by which it was called. */
export interface WorkflowCall {
  readonly id: string
  readonly name: string
}

/** The labels of a result are recorded with the call, and no model reads them. */
type UnlabelledResult = Omit<TeamRunResult, 'taint'>

/**
 * @param undelivered why the text was not delivered to the user, although the call asked for it; `null` if it
 * did not ask
 */
export function workflowResult(
  workflow: Workflow,
  call: WorkflowCall,
  team: UnlabelledResult,
  undelivered: string | null = null,
): ToolResult {
  const complete = team.outcome === 'complete'
  if (!workflow.name.startsWith(definitionPrefix)) {
    const note = undelivered === null ? {} : { not_delivered: undelivered }
    return {
      success: complete,
      tool_name: call.name,
      error: complete ? null : `team_${team.outcome}`,
      content: boundedText(JSON.stringify({ ...readableResult(team, call.id), ...note })),
    }
  }
  if (complete) {
    const content = cut(team.final_output, textsCharsMax, (offset) =>
      teamOutputReference(call.id, { offset }),
    )
    return { success: true, tool_name: call.name, error: null, content }
  }
  const message = team.message ?? `The workflow did not complete (${team.outcome}).`
  const failures = boundedFailures(team).map(({ node_id, failure }) => ({ node_id, ...failure }))
  const content = { error: `workflow_${team.outcome}`, message, team_run_id: team.team_run_id, failures }
  return {
    success: false,
    tool_name: call.name,
    error: `workflow_${team.outcome}`,
    content: boundedText(JSON.stringify(content)),
  }
}

/** The result of a call whose text went to the user: what is recorded, but not the text again. */
export function deliveredResult(
  call: WorkflowCall,
  { team_run_id, outcome, final_output }: UnlabelledResult,
): ToolResult {
  const content = JSON.stringify({ team_run_id, outcome, delivered: 'user', chars: final_output.length })
  return { success: true, tool_name: call.name, error: null, content }
}

function readableResult({ diagnostics, ...team }: UnlabelledResult, callId: string) {
  const repeats = repeatedIn(team)
  const own = team.outputs.filter(({ node_id }) => !repeats(node_id))
  const final = cut(team.final_output, textsCharsMax, (offset) => teamOutputReference(callId, { offset }))
  const each = Math.max(1_000, Math.floor((textsCharsMax - final.length) / Math.max(1, own.length)))
  return {
    ...team,
    final_output: final,
    outputs: team.outputs.map(({ node_id, output }) =>
      repeats(node_id)
        ? { node_id }
        : {
            node_id,
            output: cut(output, each, (offset) => teamOutputReference(callId, { node_id, offset })),
          },
    ),
    failures: boundedFailures(team),
    ...(diagnostics === undefined
      ? {}
      : {
          diagnostics: diagnostics
            .slice(0, remarksMax)
            .map((each) => ({ ...each, message: cut(each.message, remarkCharsMax, null) })),
        }),
  }
}

/** Whether the final output contains the output of a node: as the only text, or as one of its sections. */
function repeatedIn({
  final_output,
  outputs,
}: Pick<TeamRunResult, 'final_output' | 'outputs'>): (nodeId: string) => boolean {
  if (final_output !== '' && joinedOutputs([...outputs]) === final_output) return () => true
  const same = new Set(outputs.flatMap(({ node_id, output }) => (output === final_output ? [node_id] : [])))
  return (nodeId) => same.has(nodeId)
}

/** The first failures. The message of the team says how many nodes failed. */
function boundedFailures({ failures }: Pick<TeamRunResult, 'failures'>): TeamRunResult['failures'] {
  return failures.slice(0, remarksMax).map(({ node_id, failure }) => ({
    node_id,
    failure: { class: failure.class, message: cut(failure.message, remarkCharsMax, null) },
  }))
}

/** @param rest how to read from an offset; `null`: the rest is not offered */
function cut(text: string, charsMax: number, rest: ((offset: number) => string) | null): string {
  if (text.length <= charsMax) return text.toWellFormed()
  const kept = wholeEnd(text, charsMax)
  const read = rest === null ? '' : `: read them with ${rest(kept)}`
  return `${text.slice(0, kept).toWellFormed()}\n[cut: ${text.length - kept} more characters${read}]`
}

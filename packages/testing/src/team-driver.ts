// For tests of workflows: short ways to write arguments and to read what a plan says, and a driver.
// The driver drives a team with scripted answers, as its supervisor does: step, fold, step again. Every step is taken
// twice, and the folded events must give the team the step saw: a decision that is not a function of the
// journal, or that the journal does not tell, fails here.
import { canonicalJson, type DomainEvent, type JsonValue } from '@beaver/core'
import { evolveTeam, startTeam, type TeamState } from '@beaver/core/fold'
import {
  type AgentNode,
  type ExecutionGraph,
  type NodeEnd,
  stepTeam,
  teamOutput,
  type TeamProgram,
} from '@beaver/core/graph'
import { evaluateNode } from '@beaver/evidence'
import {
  type PlanOptions,
  type PlanResult,
  programOf,
  type Workflow,
  type WorkflowError,
} from '@beaver/workflows'
import { expect } from 'vitest'

export interface AgentArgs {
  name: string
  instruction: string
}

export const agents = (...names: string[]): AgentArgs[] =>
  names.map((name) => ({ name, instruction: `Do the work of ${name}.` }))

export function graphOf(result: PlanResult): ExecutionGraph {
  if (!result.ok) expect.fail(`refused: ${JSON.stringify(result.error)}`)
  return result.graph
}

export function errorOf(result: PlanResult): WorkflowError {
  if (result.ok) expect.fail('accepted')
  return result.error
}

/** The nodes of a graph that has agents only. */
export const agentNodes = (graph: ExecutionGraph): AgentNode[] =>
  graph.nodes.map((node) => (node.kind === 'agent' ? node : expect.fail(`${node.node_id} is no agent`)))

/** `name → depends_on`, in the order of the nodes. */
export const dependencies = (graph: ExecutionGraph): [string, string[]][] =>
  graph.nodes.map((node) => [node.node_id, node.depends_on])

/** Claims that a call is refused with this code and path, in a message that holds each of `parts`. */
export function refuses(
  workflow: Workflow,
  args: unknown,
  wanted: { code: string; path: string; parts: string[] },
  options?: PlanOptions,
): void {
  const error = errorOf(workflow.plan(args, options))
  expect({ code: error.code, path: error.path, message: error.message }).toEqual({
    code: wanted.code,
    path: wanted.path,
    message: error.message,
  })
  for (const part of wanted.parts) expect(error.message).toContain(part)
}

/** What a node's run ends with: a text, or `null` for a failure. */
export type Answers = (nodeId: string, instruction: string) => string | null

export interface Played {
  readonly team: TeamState
  /** Those of the whole team, the start included. */
  readonly events: readonly DomainEvent[]
  /** The ids of the nodes that ran, in the order in which they started. */
  readonly ran: readonly string[]
  /** What the runs were told: the instruction, and of whom they got the outputs. */
  readonly told: ReadonlyMap<string, { readonly instruction: string; readonly from: readonly string[] }>
  readonly outputs: ReadonlyMap<string, string>
  readonly result: {
    readonly final_output: string
    readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  }
  readonly diagnostics: readonly string[]
}

const stepsMax = 2000

/** @param order which of the running nodes ends next, by its place among them; default: the first */
export function play(
  graph: ExecutionGraph,
  answers: Answers,
  order: (running: number) => number = () => 0,
): Played {
  const program = programOf(graph.workflow)
  const start = {
    team_run_id: 'team1' as never,
    run_id: null,
    call_id: null,
    graph,
    concurrent_nodes_max: 16,
  }
  const team = startTeam(start, 0)
  const events: DomainEvent[] = [{ type: 'task_team_run_started', data: start }]
  const outputs = new Map<string, string>()
  const told = new Map<string, { instruction: string; from: string[] }>()
  const ran: string[] = []
  let running: { nodeId: string; runId: string }[] = []
  let ended: NodeEnd[] = []
  for (let steps = 0; team.outcome === null; steps++) {
    expect(steps).toBeLessThan(stepsMax)
    const next = stepTwice(team, ended, { program, outputs, runs: ran.length })
    for (const end of ended) if (end.status === 'completed') outputs.set(end.nodeId, end.facts.outputText)
    for (const event of next) {
      evolveTeam(team, event, { clockMs: 0 })
      if (event.type === 'node_computed') outputs.set(event.data.node_id, event.data.output)
      if (event.type !== 'node_started') continue
      const node = team.graph.nodes.find((each) => each.node_id === event.data.node_id)
      const given = event.data.input?.['instruction']
      const instruction =
        typeof given === 'string'
          ? given
          : Array.isArray(given)
            ? joined(given)
            : node?.kind === 'agent'
              ? node.instruction
              : ''
      told.set(event.data.node_id, {
        instruction,
        from: (node?.depends_on ?? []).filter((id) => team.nodes.get(id)?.status === 'completed'),
      })
      ran.push(event.data.node_id)
      running.push({ nodeId: event.data.node_id, runId: event.data.run_id })
    }
    events.push(...next)
    const chosen = running[order(running.length) % Math.max(1, running.length)]
    running = running.filter((each) => each !== chosen)
    ended =
      chosen === undefined
        ? []
        : [endOf(chosen, answers(chosen.nodeId, told.get(chosen.nodeId)?.instruction ?? ''), events)]
  }
  expect(refolded(graph, start, events)).toEqual(team)
  const result = teamOutput(team, outputs, program)
  return {
    team,
    events,
    ran,
    told,
    outputs,
    result,
    diagnostics: events.flatMap((each) => (each.type === 'team_diagnostic_recorded' ? [each.data.code] : [])),
  }
}

/** An instruction in parts, without its frames. */
const joined = (parts: readonly JsonValue[]): string =>
  parts
    .map((part) => (typeof part === 'string' ? part : String((part as { value?: unknown }).value)))
    .join('')

function refolded(
  graph: ExecutionGraph,
  start: Parameters<typeof startTeam>[0],
  events: readonly DomainEvent[],
): TeamState {
  const again = startTeam({ ...start, graph: structuredClone(graph) }, 0)
  for (const event of structuredClone(events)) evolveTeam(again, event, { clockMs: 0 })
  return again
}

function stepTwice(
  team: TeamState,
  ended: readonly NodeEnd[],
  of: { program: TeamProgram | null; outputs: ReadonlyMap<string, string>; runs: number },
): DomainEvent[] {
  const once = (): DomainEvent[] => {
    let runs = of.runs
    return stepTeam(team, ended, {
      newRunId: () => `run-${++runs}`,
      cancelReason: null,
      program: of.program,
      gate: evaluateNode,
      outputs: of.outputs,
    })
  }
  const events = once()
  expect(canonicalJson(once())).toBe(canonicalJson(events))
  return events
}

/** Also adds the answer to the events, as the run would. */
function endOf(
  { nodeId, runId }: { nodeId: string; runId: string },
  answer: string | null,
  events: DomainEvent[],
): NodeEnd {
  const facts = { outputText: answer ?? '', outputSeq: 1, tools: [] }
  if (answer === null)
    return {
      nodeId,
      runId,
      status: 'failed',
      facts,
      failure: { class: 'tool_crash', message: 'secret of the failure' },
    }
  const data = {
    content: answer,
    tool_calls: [],
    finish_reason: 'stop',
    usage: { input_tokens: 0, output_tokens: 0 },
    provider_name: 'p',
    model: 'm',
    response_id: null,
    duration_ms: 0,
  }
  events.push({ type: 'assistant_message_added', runId, data: data as never })
  return { nodeId, runId, status: 'completed', facts, failure: null }
}

/** Answers by node id; `'*'` for all others, who else say "<id> says". */
export const scripted =
  (script: Readonly<Record<string, string | null>>): Answers =>
  (nodeId) =>
    Object.hasOwn(script, nodeId)
      ? (script[nodeId] ?? null)
      : script['*'] === undefined
        ? `${nodeId} says`
        : script['*']

/** Node ids and what they depend on, of the graph as it ended. */
export const structure = (played: Played): [string, string[]][] =>
  played.team.graph.nodes.map((node) => [node.node_id, node.depends_on])

export const statusOf = (played: Played, nodeId: string): string =>
  played.team.nodes.get(nodeId)?.status ?? 'unknown'

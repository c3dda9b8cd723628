// One step of a team: the events that follow from the runs that ended. The TeamSupervisor appends them and
// acts on them. A step is pure, except for `newRunId`.
// E2. A node completes only if the evidence gate lets its result pass and its program, if there is one,
// accepts it.
// E3. Outcomes come before the starts that they make possible. Code nodes are computed in the same step, and
// the step that ends the last node also ends the team.
import { type DataOf, type DomainEvent, event } from '../events/catalog.ts'
import type { EvidenceGate, RunFacts } from '../evidence/run-facts.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { TeamNodeState, TeamState } from '../fold/team-state.ts'
import { messageOf } from '../errors.ts'
import type { RunId } from '../ids.ts'
import type { JsonObject } from '../json.ts'
import type { ExecutionGraph, ExecutionNode } from './execution-graph.ts'
import { givenTo, type GivingTeam } from './given-facts.ts'
import { decideTeam, type NodeState, type NodeStatus, teamOutcome } from './schedule.ts'
import {
  grow,
  type Growth,
  type NodeEntry,
  type NodeSequel,
  type TeamProgram,
  type TeamView,
} from './team-program.ts'
import { changeSharedState, type SharedStateChange } from '../team/shared-state.ts'
import { graphFault } from './topology.ts'

/** How the run of a node ended. */
export interface NodeEnd {
  readonly nodeId: string
  readonly runId: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly facts: RunFacts
  readonly failure: Failure | null
}

/** What a step needs besides the team and the ended runs. */
export interface StepOptions {
  readonly newRunId: () => string
  /** Why the team must stop: nothing starts, and nodes that wait are cancelled. `null`: the team goes on. */
  readonly cancelReason: string | null
  readonly program: TeamProgram | null
  readonly gate: EvidenceGate
  /** How far a graph may grow (D-39). Default: there is no limit. */
  readonly graphMax?: { readonly agents: number; readonly edges: number }
  /**
   * Whether runs of nodes have not ended yet. The team ends after them: a run that was dismissed ends soon.
   * Default: false.
   */
  readonly runsOpen?: boolean
  /** The texts of the nodes that completed before this step. */
  readonly outputs: ReadonlyMap<string, string>
}

/**
 * The events that follow from the runs that ended, in order. `ended` is empty in the first step of a team.
 *
 * @example
 * const begun = events.find((each) => each.type === 'task_team_run_started')
 * if (begun === undefined) throw new Error('The task has no team.')
 * const gate = () => ({ passed: true, checks: [] })
 * const options = { newRunId: () => 'run_1', cancelReason: null, program: null, gate, outputs: new Map<string, string>() }
 * stepTeam(startTeam(begun.data, 0), [], options).map(({ type }) => type) // => ['node_started']
 */
export function stepTeam(team: TeamState, ended: readonly NodeEnd[], options: StepOptions): DomainEvent[] {
  const step = new Step(team, options)
  step.settleEnds(ended)
  step.cancelWaiting()
  while (step.advance()) {
    // Each pass may make further nodes ready or blocked. They belong to the same step.
  }
  step.endTeam()
  return step.events
}

/** What the end of one run means for the team, without what may begin after it. */
export function settledNode(
  team: TeamState,
  end: NodeEnd,
  options: Pick<StepOptions, 'program' | 'gate' | 'outputs'>,
): DomainEvent[] {
  const step = new Step(team, { ...options, newRunId: () => '', cancelReason: null })
  step.settleEnds([end])
  return step.events
}

/**
 * How one node begins, or is skipped, if it may now. The list is empty if it may not. It does not count how
 * many nodes run. A run that starts has no id.
 */
export function enteredNode(
  team: TeamState,
  nodeId: string,
  options: Pick<StepOptions, 'program' | 'gate' | 'outputs'>,
): DomainEvent[] {
  const step = new Step(team, { ...options, newRunId: () => '', cancelReason: null })
  step.enterOne(nodeId)
  return step.events
}

/** The team as it will be once the events so far are durable. */
class Step implements TeamView, GivingTeam {
  readonly events: DomainEvent[] = []
  graph: ExecutionGraph
  #sharedState: TeamState['sharedState']
  readonly #team: TeamState
  readonly #options: StepOptions
  readonly #nodes: Map<string, NodeState & { readonly failure?: Failure | null }>
  readonly #outputs = new Map<string, string>()
  /** The nodes whose runs ended before this step. */
  readonly #ending = new Set<string>()

  constructor(team: TeamState, options: StepOptions) {
    this.#team = team
    this.#options = options
    this.graph = team.graph
    this.#sharedState = team.sharedState
    this.#nodes = new Map(team.nodes)
  }

  get sharedState(): TeamState['sharedState'] {
    return this.#sharedState
  }

  statusOf(nodeId: string): NodeStatus {
    return this.#nodes.get(nodeId)?.status ?? 'waiting'
  }

  outputOf(nodeId: string): string | null {
    return this.statusOf(nodeId) === 'completed'
      ? (this.#outputs.get(nodeId) ?? this.#options.outputs.get(nodeId) ?? '')
      : null
  }

  failureOf(nodeId: string): Failure | null {
    return this.#nodes.get(nodeId)?.failure ?? null
  }

  inputOf(nodeId: string): JsonObject | null {
    return this.#team.nodes.get(nodeId)?.input ?? null
  }

  settleEnds(ended: readonly NodeEnd[]): void {
    const places = new Map(
      ended.length > 1 ? this.graph.nodes.map((node, place): [string, number] => [node.node_id, place]) : [],
    )
    const placeOf = (end: NodeEnd): number => places.get(end.nodeId) ?? 0
    for (const { nodeId } of ended) this.#ending.add(nodeId)
    for (const end of ended.toSorted((a, b) => placeOf(a) - placeOf(b))) this.#settleEnd(end)
  }

  cancelWaiting(): void {
    for (const { node_id } of this.graph.nodes) {
      const reason = this.#options.cancelReason ?? this.#team.nodes.get(node_id)?.cancelReason ?? null
      if (reason === null || this.statusOf(node_id) !== 'waiting') continue
      this.#record('node_cancelled', node_id, { reason })
      this.#settle(node_id, { status: 'cancelled' })
    }
  }

  /** Blocks, skips and starts nodes. Returns whether more may follow at once. */
  advance(): boolean {
    const decision = decideTeam(this.graph, this.#nodes, {
      concurrentNodesMax: this.#team.start.concurrent_nodes_max,
    })
    for (const { node, causeNodeId } of decision.block) {
      this.#record('node_blocked', node.node_id, { cause_node_id: causeNodeId })
      this.#settle(node.node_id, { status: 'blocked' })
    }
    let again = decision.block.length > 0
    for (const node of decision.skip) again = this.#skip(node, skippedWithAll)
    for (const node of decision.start) {
      const before = this.graph
      again = this.#enter(node) || again
      // The growth may hold back a node that this decision would start.
      if (this.graph !== before) return true
    }
    return again
  }

  enterOne(nodeId: string): void {
    const { start, skip } = decideTeam(this.graph, this.#nodes, { concurrentNodesMax: Infinity })
    const named = ({ node_id }: ExecutionNode): boolean => node_id === nodeId
    const [starts, skipped] = [start.find(named), skip.find(named)]
    if (skipped !== undefined) this.#skip(skipped, skippedWithAll)
    if (starts !== undefined) this.#enter(starts)
  }

  endTeam(): void {
    const decision = decideTeam(this.graph, this.#nodes, {
      concurrentNodesMax: this.#team.start.concurrent_nodes_max,
    })
    if (!decision.done || this.#options.runsOpen === true) return
    const { team_run_id } = this.#team.start
    const outcome = teamOutcome(this.graph, this.#nodes, this.#options.cancelReason !== null)
    const fault =
      outcome === 'complete' ? this.#resultFault() : summary(this.graph, (id) => this.statusOf(id))
    this.events.push(
      fault === null
        ? event('task_team_run_completed', { team_run_id, outcome: 'complete' })
        : event('task_team_run_failed', {
            team_run_id,
            outcome: outcome === 'complete' ? 'incomplete' : outcome,
            message: fault,
          }),
    )
  }

  #resultFault(): string | null {
    try {
      this.#options.program?.result?.(this)
      return null
    } catch (error) {
      return `All nodes completed, and ${this.graph.workflow} could not make its result: ${messageOf(error)}`
    }
  }

  #settleEnd(end: NodeEnd): void {
    // The node was dismissed while its run went on.
    if (this.statusOf(end.nodeId) === 'skipped') return
    const run_id = end.runId as never
    if (end.status === 'cancelled') {
      this.#record('node_cancelled', end.nodeId, { reason: end.failure?.message ?? 'cancelled' })
      return this.#settle(end.nodeId, { status: 'cancelled' })
    }
    if (end.status === 'failed')
      return this.#fail(
        end.nodeId,
        run_id,
        end.failure ?? { class: 'internal', message: 'The run failed without a reason.' },
      )
    const node = this.graph.nodes.find((each) => each.node_id === end.nodeId)
    const { gate } = this.#options
    const { passed, checks } =
      node?.kind === 'agent'
        ? gate(node, { ...end.facts, given: givenTo(this, node) })
        : gate({ required_evidence: [] }, end.facts)
    if (checks.length > 0) this.#record('node_evidence_evaluated', end.nodeId, { run_id, passed, checks })
    if (!passed) {
      const missing = checks.filter((each) => each.status === 'failed').map((each) => each.detail)
      return this.#fail(end.nodeId, run_id, { class: 'evidence_missing', message: missing.join(' ') })
    }
    const sequel = node === undefined ? null : this.#sequel(node, end.facts.outputText)
    for (const diagnostic of sequel?.diagnostics ?? [])
      this.#record('team_diagnostic_recorded', end.nodeId, { ...diagnostic })
    if (sequel?.kind === 'fail') return this.#fail(end.nodeId, run_id, sequel.failure)
    this.#record('node_completed', end.nodeId, { run_id })
    this.#outputs.set(end.nodeId, end.facts.outputText)
    this.#settle(end.nodeId, { status: 'completed' })
    for (const change of sequel?.stateChanges ?? []) this.#changeState(end.nodeId, change)
    this.#grow(end.nodeId, sequel?.growth)
    this.#dismiss(sequel?.dismiss)
  }

  #dismiss(dismissed: Extract<NodeSequel, { kind: 'go_on' }>['dismiss']): void {
    for (const id of dismissed?.nodes ?? []) {
      const node = this.graph.nodes.find((each) => each.node_id === id)
      const status = this.statusOf(id)
      if (node !== undefined && (status === 'waiting' || (status === 'running' && !this.#ending.has(id))))
        this.#skip(node, dismissed?.reason ?? '')
    }
  }

  #changeState(nodeId: string, change: SharedStateChange): void {
    const changed = changeSharedState(this.#sharedState, change)
    if (!changed.ok)
      return this.#record('team_diagnostic_recorded', nodeId, {
        code: 'shared_state_refused',
        message: changed.message,
      })
    this.#sharedState = changed.state
    this.events.push(
      event('shared_state_changed', { team_run_id: this.#team.start.team_run_id, run_id: null, change }),
    )
  }

  #enter(node: ExecutionNode): boolean {
    const entry = this.#entry(node)
    switch (entry.kind) {
      case 'run':
        this.#record('node_started', node.node_id, {
          run_id: this.#options.newRunId() as never,
          input: entry.input,
        })
        this.#settle(node.node_id, { status: 'running' })
        return false
      case 'output':
        for (const diagnostic of entry.diagnostics ?? [])
          this.#record('team_diagnostic_recorded', node.node_id, { ...diagnostic })
        this.#record('node_computed', node.node_id, { output: entry.output })
        this.#outputs.set(node.node_id, entry.output)
        this.#settle(node.node_id, { status: 'completed' })
        this.#grow(node.node_id, entry.growth)
        return true
      case 'skip':
        return this.#skip(node, entry.reason)
      case 'fail':
        this.#fail(node.node_id, null, entry.failure)
        return true
      default:
        return entry satisfies never
    }
  }

  /**
   * A program is code of Beaver, but it computes from files and from answers of models. If it throws, the
   * node fails.
   */
  #entry(node: ExecutionNode): NodeEntry {
    try {
      const entry = this.#options.program?.enter?.(this, node) ?? { kind: 'run', input: null }
      if (entry.kind !== 'run' || node.kind !== 'code')
        return this.#sound(entry.kind === 'output' ? entry.growth : undefined) ?? entry
      return broken(`${this.graph.workflow} has no code for the operation ${JSON.stringify(node.operation)}.`)
    } catch (error) {
      return broken(messageOf(error))
    }
  }

  #sequel(node: ExecutionNode, output: string): NodeSequel | null {
    try {
      const sequel = this.#options.program?.after?.(this, node, output) ?? null
      return this.#sound(sequel?.kind === 'go_on' ? sequel.growth : undefined) ?? sequel
    } catch (error) {
      return broken(messageOf(error))
    }
  }

  /** A growth that would break the graph fails the node from which it follows. */
  #sound(growth: Growth | undefined): ReturnType<typeof broken> | null {
    if (growth === undefined) return null
    const started = growth.edges?.find(([, to]) => this.#nodes.has(to) && this.statusOf(to) !== 'waiting')
    if (started !== undefined)
      return broken(`${this.graph.workflow} led an edge to ${started[1]}, which has begun.`)
    const nowhere = growth.edges?.find(
      ([, to]) => !this.#nodes.has(to) && !growth.nodes.some((node) => node.node_id === to),
    )
    if (nowhere !== undefined)
      return broken(`${this.graph.workflow} led an edge to ${nowhere[1]}, which is not a node of the graph.`)
    const grown = grow(this.graph, growth)
    const fault = growth.outputs?.length === 0 ? 'no node is an output' : graphFault(grown)
    if (fault !== null) return broken(`${this.graph.workflow} would grow into a graph in which ${fault}.`)
    return this.#tooLarge(grown)
  }

  #tooLarge(grown: ExecutionGraph): ReturnType<typeof broken> | null {
    const { graphMax } = this.#options
    if (graphMax === undefined) return null
    const agents = grown.nodes.filter((node) => node.kind === 'agent').length
    const edges = grown.nodes.reduce((sum, node) => sum + node.depends_on.length, 0)
    const over =
      agents > graphMax.agents
        ? `${agents} agents; the limit agentsMax is ${graphMax.agents}`
        : edges > graphMax.edges
          ? `${edges} edges; the limit edgesMax is ${graphMax.edges}`
          : null
    return over === null
      ? null
      : {
          kind: 'fail',
          failure: { class: 'growth_exceeded', message: `${this.graph.workflow} would grow to ${over}.` },
        }
  }

  #grow(nodeId: string, growth: Growth | undefined): void {
    if (growth === undefined) return
    this.graph = grow(this.graph, growth)
    for (const node of growth.nodes) this.#nodes.set(node.node_id, { status: 'waiting', runId: null })
    const { outputs, output } = this.graph
    const edges = (growth.edges ?? []).map(([from, to]): [string, string] => [from, to])
    this.#record('graph_extended', nodeId, { nodes: [...growth.nodes], edges, outputs, output })
  }

  #skip(node: ExecutionNode, reason: string): true {
    this.#record('node_skipped', node.node_id, { reason })
    this.#settle(node.node_id, { status: 'skipped' })
    return true
  }

  #fail(nodeId: string, runId: RunId | null, failure: Failure): void {
    this.#record('node_failed', nodeId, { run_id: runId, failure })
    this.#settle(nodeId, { status: 'failed', failure })
  }

  #record<T extends NodeEvent>(
    type: T,
    nodeId: string,
    data: Omit<DataOf<T>, 'team_run_id' | 'node_id'>,
  ): void {
    const named: object = { team_run_id: this.#team.start.team_run_id, node_id: nodeId, ...data }
    this.events.push(event(type, named as DataOf<T>))
  }

  #settle(nodeId: string, change: Partial<TeamNodeState>): void {
    this.#nodes.set(nodeId, { ...(this.#nodes.get(nodeId) as NodeState), ...change })
  }
}

const skippedWithAll = 'All nodes on which it depends were skipped.'

type NodeEvent =
  | 'node_started'
  | 'node_computed'
  | 'node_skipped'
  | 'node_evidence_evaluated'
  | 'node_completed'
  | 'node_failed'
  | 'node_blocked'
  | 'node_cancelled'
  | 'graph_extended'
  | 'team_diagnostic_recorded'

const broken = (message: string): { kind: 'fail'; failure: Failure } => ({
  kind: 'fail',
  failure: { class: 'internal', message },
})

/** "1 of 3 nodes completed; failed: b; blocked: c". */
function summary(graph: ExecutionGraph, statusOf: (id: string) => NodeStatus): string {
  const named = (status: NodeStatus): string[] =>
    graph.nodes.map((node) => node.node_id).filter((id) => statusOf(id) === status)
  const parts = (['failed', 'blocked', 'cancelled', 'skipped'] as const).flatMap((status) => {
    const ids = named(status)
    const more = ids.length > namedMax ? ` and ${ids.length - namedMax} more` : ''
    return ids.length === 0 ? [] : [`${status}: ${ids.slice(0, namedMax).join(', ')}${more}`]
  })
  return [`${named('completed').length} of ${graph.nodes.length} nodes completed`, ...parts].join('; ')
}

const namedMax = 20

// AgentTeam (AT-02, D-17): members and a strategy, on the same graph and runtime as every workflow. It is
// never offered to a model, because the author of the configuration chooses the strategy. `max_steps` bounds
// the graph, and a configuration that needs more from the start is refused.
import type { NodeSequel, TeamProgram } from '@beaver/core/graph'
import {
  type PlanResult,
  quote,
  type Refusal,
  refuse,
  type Workflow,
  type WorkflowLimits,
  workflowOf,
} from '@beaver/workflows'
import { asSettings, builtGraph, failuresOf, sizeFault, withFailures } from '../growing/growing-team.ts'
import {
  configurationFault,
  coordinatorOf,
  initialState,
  namesFault,
  profilesIn,
  readTeamConfiguration,
  spelledOut,
  type TeamConfiguration,
  teamConfiguration,
  withMemberProfiles,
} from './configuration.ts'
import { leaderOf, leaderStepsMin, leaderWorker, planned } from './leader-worker.ts'
import { edgesOf, interactionsOf, isWork, partOf, type TeamSettings, teamSettings } from './member-nodes.ts'
import { broadcast, roundRobinMessage, roundRobinTasks, sequential, type TeamPlan } from './strategies.ts'

const program: TeamProgram = {
  enter(team, node) {
    if (node.kind === 'code') {
      const [first = ''] = node.depends_on
      return {
        kind: 'output',
        output:
          node.operation === 'gate'
            ? `${first} has ended; it is your turn.`
            : JSON.stringify(interactionsOf(team, node.depends_on)),
      }
    }
    if (node.kind !== 'agent' || partOf(node) !== 'synthesis') return { kind: 'run', input: null }
    const failures = failuresOf(team, node.depends_on)
    return {
      kind: 'run',
      input: failures.length === 0 ? null : { instruction: withFailures(node.instruction, failures) },
    }
  },
  after(team, node, output) {
    const settings = teamSettings.parse(team.graph.settings)
    if (partOf(node) === 'plan') return withPlan(settings, planned(team, settings, node, output))
    if (!settings.shares_state || node.kind !== 'agent' || partOf(node) !== null) return { kind: 'go_on' }
    return {
      kind: 'go_on',
      stateChanges: [{ action: 'append', path: ['member_outputs', node.agent.name], value: output }],
    }
  },
}

/** The shared state also contains the members that a plan led to (AT-11). */
function withPlan({ shares_state }: TeamSettings, sequel: NodeSequel): NodeSequel {
  if (!shares_state || sequel.kind !== 'go_on' || sequel.growth === undefined) return sequel
  const value = sequel.growth.nodes.flatMap((node) =>
    node.kind === 'agent' && partOf(node) === null
      ? [
          {
            node_id: node.node_id,
            member: node.agent.name,
            task: node.settings?.['input'] ?? '',
            depends_on: node.depends_on,
          },
        ]
      : [],
  )
  return value.length === 0
    ? sequel
    : { ...sequel, stateChanges: [{ action: 'set', path: 'coordination_plan', value }] }
}

const defined = workflowOf({
  name: 'AgentTeam',
  description: 'Runs a configured team: leader_worker, round_robin, broadcast or sequential.',
  input: teamConfiguration,
  build: buildTeam,
  program,
  tool: false,
})

/** The workflow `AgentTeam`. Only a task can be one; it is no tool of a model. */
export const agentTeam: Workflow = {
  name: defined.name,
  description: defined.description,
  input: defined.input,
  tool: false,
  program,
  growthOf(graph) {
    const settings = teamSettings.safeParse(graph.settings).data
    return settings?.strategy === 'leader_worker' ? settings.max_steps : null
  },
  teamOf(graph) {
    const settings = teamSettings.safeParse(graph.settings).data
    if (settings === undefined) return null
    const { team, strategy, members, coordinator } = settings
    const leader = strategy === 'leader_worker' ? 'Coordinator' : null
    return {
      team,
      strategy,
      members: members.map(({ name }) => name),
      coordinator: coordinator?.name ?? leader,
    }
  },
  withProfiles: withMemberProfiles,
  // Not copied, because reading it makes the schema. A process that starts needs none.
  get parameters() {
    return defined.parameters
  },
  plan: (args, options) => defined.plan(spelledOut(args), options),
  // The single message of round_robin goes to the next member of the same team. With tasks there are no turns
  // (D-48).
  turnKey(args) {
    const read = readTeamConfiguration(args)
    if (!read.ok || read.configuration.strategy !== 'round_robin' || read.configuration.tasks !== undefined)
      return null
    return JSON.stringify([
      read.configuration.name ?? null,
      read.configuration.members.map((member) => member.name),
    ])
  },
}

function buildTeam(configuration: TeamConfiguration, limits: WorkflowLimits, turn: number): PlanResult {
  const {
    name = 'AgentTeam',
    strategy = 'leader_worker',
    members,
    message,
    tasks,
    max_steps = Math.min(50, limits.agentsMax),
    share_interactions = false,
    shared_state,
    enable_logging,
  } = configuration
  const chosenCoordinator = coordinatorOf(configuration)
  const settings: TeamSettings = {
    team: name,
    strategy,
    members,
    coordinator: chosenCoordinator,
    share_interactions,
    shares_state: shared_state !== undefined,
    ...(enable_logging === undefined ? {} : { enable_logging }),
    max_steps,
    edges_max: limits.edgesMax,
  }
  const fault =
    configurationFault(configuration) ??
    profileFault(configuration) ??
    messageFault(configuration) ??
    namesFault(members, asked(configuration, settings), limits)
  if (fault !== null) return fault
  const task = message ?? `The tasks of ${name}, each for one member.`
  const plan = planOf(configuration, settings, { text: task, tasks, turn })
  const size = stepsFault(settings, plan) ?? sizeOf(settings, plan, limits)
  if (size !== null) return size
  return builtGraph({
    workflow: 'AgentTeam',
    task,
    nodes: [...plan.nodes],
    outputs: [...plan.outputs],
    output: plan.output,
    settings: asSettings(settings),
    ...(shared_state === undefined ? {} : { shared_state: initialState(shared_state, task) }),
  })
}

function planOf(
  configuration: TeamConfiguration,
  settings: TeamSettings,
  request: { text: string; tasks: string[] | undefined; turn: number },
): TeamPlan {
  switch (settings.strategy) {
    case 'leader_worker':
      return leaderWorker(settings, request.text)
    case 'round_robin':
      return request.tasks === undefined
        ? roundRobinMessage(settings, request.text, request.turn)
        : roundRobinTasks(settings, request.tasks)
    case 'broadcast': {
      const concurrent = configuration.concurrent ?? !settings.share_interactions
      return broadcast(settings, request.text, { concurrent, coordinator: asked(configuration, settings) })
    }
    case 'sequential':
      return sequential(settings, request.text)
    default:
      return settings.strategy satisfies never
  }
}

/** The coordinator, if the strategy uses it. */
function asked(configuration: TeamConfiguration, settings: TeamSettings) {
  if (settings.strategy === 'leader_worker') return leaderOf(settings)
  return settings.strategy === 'broadcast' && configuration.aggregate !== 'concatenate'
    ? settings.coordinator
    : undefined
}

function profileFault(configuration: TeamConfiguration): Refusal | null {
  const [unresolved] = profilesIn(configuration)
  if (unresolved === undefined) return null
  const name = quote(unresolved.holder.profile)
  return refuse(
    'invalid_arguments',
    unresolved.path,
    `The profile ${name} is not known here, because profiles are loaded where a task is accepted. Write the member in full, or submit the team as a task.`,
  )
}

function messageFault({ message, tasks }: TeamConfiguration): Refusal | null {
  if (message !== undefined || tasks !== undefined) return null
  return refuse(
    'invalid_arguments',
    'message',
    '"message" is missing. Say what the team must do: "message": "…".',
  )
}

function stepsFault({ strategy, max_steps }: TeamSettings, plan: TeamPlan): Refusal | null {
  const steps = strategy === 'leader_worker' ? leaderStepsMin : plan.nodes.filter(isWork).length
  if (steps <= max_steps) return null
  return refuse(
    'invalid_arguments',
    'max_steps',
    `"max_steps" is ${max_steps}, but ${strategy} needs ${steps} steps here, each coordinator call included. Raise it, or use fewer members or tasks.`,
  )
}

/** A plan may be as large as `max_steps` allows. */
function sizeOf(
  { strategy, max_steps, share_interactions }: TeamSettings,
  plan: TeamPlan,
  limits: WorkflowLimits,
): Refusal | null {
  const runs = strategy === 'leader_worker' ? max_steps : plan.nodes.filter(isWork).length
  const edges = edgesOf(runs, share_interactions)
  return sizeFault(
    { runs, edges },
    strategy === 'leader_worker' ? 'max_steps' : 'members',
    'Lower max_steps, or use fewer members or tasks.',
    limits,
  )
}

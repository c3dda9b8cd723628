// Reads the configuration of an AgentTeam: a team file, or the arguments of a task that runs a team (AT-04,
// D-17). A member is a configuration, or a name alone, which may be that of a loaded profile.
// `coordinator_role` is another name of `coordinator`. Settings that conflict are refused; an unused
// coordinator is accepted.
import { canonicalJson, type JsonObject, jsonObject } from '@beaver/core'
import { sharedStateBytesMax } from '@beaver/core/graph'
import {
  agentsFault,
  isRecord,
  type MemberProfile,
  type PlacedAgent,
  quote,
  readArguments,
  type Refusal,
  refuse,
  type WorkflowAgentSpec,
  workflowAgentSpec,
  type WorkflowLimits,
  type Written,
} from '@beaver/workflows'
import { z } from 'zod'
import { countField } from '../growing/growing-team.ts'

/** The strategies of an AgentTeam, in the order of the documentation. */
export const strategies = ['leader_worker', 'round_robin', 'broadcast', 'sequential'] as const
/** How the members of an AgentTeam work together. */
export type TeamStrategy = (typeof strategies)[number]

const filled = z.string().refine((text) => text.trim() !== '', 'is blank: write some text')

const member = z.strictObject({
  ...workflowAgentSpec.shape,
  instruction: filled.optional().describe('What the member does, in full.'),
  system_prompt: filled.optional().describe('Who the member is. Its system prompt contains this text.'),
  profile: filled
    .optional()
    .describe(
      'A profile that gives the member what it does not say itself: system_prompt, allowed_tool_names, model, model_settings.',
    ),
})
export type Member = z.output<typeof member>

const stepsMax = 512

/**
 * The fields of a team's configuration, before what they say together is checked. `readTeamConfiguration`
 * checks everything.
 */
export const teamConfiguration = z.strictObject({
  name: z.string().min(1).max(200).optional().describe('The name of the team. Default: AgentTeam.'),
  strategy: z.enum(strategies).optional().describe('How the members work together. Default: leader_worker.'),
  members: z
    .array(member)
    .min(1)
    .describe('The members: {"name": "…", "instruction": "…"}, or a name alone.'),
  coordinator: member
    .optional()
    .describe(
      'Plans and writes the result (leader_worker), or writes the result from all answers (broadcast).',
    ),
  coordinator_role: member.optional().describe('Another name for coordinator.'),
  message: filled.optional().describe('What the team must do.'),
  tasks: z
    .array(filled)
    .min(1)
    .max(stepsMax)
    .optional()
    .describe('With round_robin: task k goes to member k mod n.'),
  concurrent: z
    .boolean()
    .optional()
    .describe(
      'With broadcast: whether all members work at the same time. Default: true, unless interactions are shared.',
    ),
  aggregate: z
    .enum(['concatenate', 'coordinator'])
    .optional()
    .describe('With broadcast: how the result is made. Default: coordinator, if there is one.'),
  shared_state: jsonObject
    .optional()
    .describe('The initial value of the state that the members share. Default: they share none.'),
  share_interactions: z
    .boolean()
    .optional()
    .describe(
      'Whether each member receives the tasks and answers of the members before it. If so, they work one after the other. Default: false.',
    ),
  max_steps: countField(
    1,
    stepsMax,
    `How many times the members and the coordinator may work in all, 1 to ${stepsMax}. Default: 50.`,
  ).optional(),
  enable_logging: z
    .boolean()
    .optional()
    .describe(
      'Whether the report of the team has a log. The journal records everything in any case. Default: true.',
    ),
})
/** The configuration of an AgentTeam, validated, with its defaults. */
export type TeamConfiguration = z.output<typeof teamConfiguration>

/** A member of an AgentTeam, as a program writes it. */
export type TeamMemberInput = Written<z.input<typeof member>>

/** The configuration of an AgentTeam, as a program writes it. A test compares it with `teamConfiguration`. */
export interface TeamConfigurationInput {
  /** The name of the team. Default: AgentTeam. */
  readonly name?: string | undefined
  /** How the members work together. Default: leader_worker. */
  readonly strategy?: TeamStrategy | undefined
  /** The members. A name alone is the name of a loaded profile, or of a member without an instruction. */
  readonly members: readonly (string | TeamMemberInput)[]
  /** Plans and writes the result (leader_worker), or writes the result from all answers (broadcast). */
  readonly coordinator?: string | TeamMemberInput | undefined
  /** Another name of `coordinator`. */
  readonly coordinator_role?: string | TeamMemberInput | undefined
  /** What the team must do. */
  readonly message?: string | undefined
  /** With round_robin: task k goes to member k mod n. */
  readonly tasks?: readonly string[] | undefined
  /** With broadcast: whether all members work at once. Default: true, unless interactions are shared. */
  readonly concurrent?: boolean | undefined
  /** With broadcast: how the result is made. Default: coordinator, if there is one. */
  readonly aggregate?: 'concatenate' | 'coordinator' | undefined
  /** The initial value of the state that the members share. Default: they share none. */
  readonly shared_state?: JsonObject | undefined
  /** Whether each member receives the tasks and answers of the members before it. Default: false. */
  readonly share_interactions?: boolean | undefined
  /** How many times the members and the coordinator may work in all, 1 to 512. Default: 50. */
  readonly max_steps?: number | undefined
  /** Whether the report of the team has a log. Default: true. */
  readonly enable_logging?: boolean | undefined
}

/**
 * Reads the configuration in a JSON value: a team file, or the body of a request.
 *
 * @example
 * const read = readTeamConfiguration({ members: ['optimist', 'sceptic'], message: 'Should we?' })
 * if (read.ok) read.configuration.members.map(({ name }) => name) // => ['optimist', 'sceptic']
 * const refused = readTeamConfiguration({ members: [] })
 * if (!refused.ok) refused.error.path // => 'members'
 */
export function readTeamConfiguration(
  json: unknown,
): { readonly ok: true; readonly configuration: TeamConfiguration } | Refusal {
  const read = readArguments({ input: teamConfiguration }, spelledOut(json))
  if (!read.ok) return read
  return configurationFault(read.value) ?? { ok: true, configuration: read.value }
}

/** Turns members that are names alone into objects. */
export function spelledOut(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json
  const spelled = { ...(json as Record<string, unknown>) }
  const one = (value: unknown): unknown => (typeof value === 'string' ? { name: value } : value)
  if (Array.isArray(spelled['members'])) spelled['members'] = spelled['members'].map(one)
  for (const key of ['coordinator', 'coordinator_role'])
    if (typeof spelled[key] === 'string') spelled[key] = one(spelled[key])
  return spelled
}

/**
 * Replaces each `profile` of a member in the arguments of an AgentTeam with the profile's content. The
 * member's own fields win. A member that is a name alone gets the content of the profile with this name, if
 * there is one. Call it where profiles are known, before the arguments are kept: a team with a profile in it
 * is not built.
 */
export function withMemberProfiles(
  args: unknown,
  profileOf: (name: string) => MemberProfile | null,
): { readonly ok: true; readonly args: unknown } | Refusal {
  const spelled = spelledOut(args)
  for (const { holder, path } of profilesIn(spelled)) {
    const profile = profileOf(holder.profile)
    if (profile === null)
      return refuse(
        'invalid_arguments',
        path,
        `There is no profile ${quote(holder.profile)}. Name one that is loaded, or write the member in full.`,
      )
  }
  const resolved = (value: unknown): unknown => {
    if (isNameAlone(value)) return { ...value, ...profileOf(value.name) }
    if (!namesProfile(value)) return value
    const { profile, ...member } = value
    return { ...profileOf(profile), ...member }
  }
  if (!isRecord(spelled)) return { ok: true, args: spelled }
  const people = new Set(['coordinator', 'coordinator_role'])
  const entries = Object.entries(spelled).map(([key, value]) => [
    key,
    key === 'members' && Array.isArray(value)
      ? value.map(resolved)
      : people.has(key)
        ? resolved(value)
        : value,
  ])
  return { ok: true, args: Object.fromEntries(entries) as unknown }
}

/** The members and coordinators that name a profile. */
export function profilesIn(args: unknown): { holder: { profile: string }; path: string }[] {
  if (!isRecord(args)) return []
  const { members } = args
  const places: [string, unknown][] = Array.isArray(members)
    ? members.map((each, index) => [`members.${index}.profile`, each])
    : []
  for (const key of ['coordinator', 'coordinator_role']) places.push([`${key}.profile`, args[key]])
  return places.flatMap(([path, holder]) => (namesProfile(holder) ? [{ holder, path }] : []))
}

const isNameAlone = (value: unknown): value is { name: string } =>
  isRecord(value) && typeof value['name'] === 'string' && Object.keys(value).length === 1
const namesProfile = (value: unknown): value is { profile: string } =>
  isRecord(value) && typeof value['profile'] === 'string'

/** What is in conflict in a configuration. */
export function configurationFault(configuration: TeamConfiguration): Refusal | null {
  const {
    strategy = 'leader_worker',
    coordinator,
    coordinator_role,
    tasks,
    concurrent,
    aggregate,
    share_interactions,
    shared_state,
  } = configuration
  const wrong = (path: string, message: string): Refusal => refuse('invalid_arguments', path, message)
  if (coordinator !== undefined && coordinator_role !== undefined) {
    return wrong(
      'coordinator_role',
      '"coordinator" and "coordinator_role" are the same field under two names. Keep one of them.',
    )
  }
  if (tasks !== undefined && strategy !== 'round_robin')
    return wrong(
      'tasks',
      `"tasks" belongs to the strategy round_robin; this team has ${strategy}. Remove one of them.`,
    )
  if (concurrent !== undefined && strategy !== 'broadcast')
    return wrong(
      'concurrent',
      `"concurrent" belongs to the strategy broadcast; this team has ${strategy}. Remove it.`,
    )
  if (aggregate !== undefined && strategy !== 'broadcast')
    return wrong(
      'aggregate',
      `"aggregate" belongs to the strategy broadcast; this team has ${strategy}. Remove it.`,
    )
  if (concurrent === true && share_interactions === true) {
    return wrong(
      'concurrent',
      'Members that work at the same time cannot see what the others answer: remove "concurrent" or "share_interactions".',
    )
  }
  if (aggregate === 'coordinator' && coordinatorOf(configuration) === undefined) {
    return refuse(
      'aggregator_required',
      'coordinator',
      '"coordinator" is missing: "aggregate": "coordinator" needs it. Add {"name": "…", "instruction": "…"}.',
    )
  }
  const bytes = canonicalJson(shared_state ?? {}).length
  return bytes <= sharedStateBytesMax
    ? null
    : wrong(
        'shared_state',
        `"shared_state" has ${bytes} characters; the limit is ${sharedStateBytesMax}. Store less.`,
      )
}

export const coordinatorOf = ({ coordinator, coordinator_role }: TeamConfiguration): Member | undefined =>
  coordinator ?? coordinator_role

/** What is wrong with the names. `coordinator`: only a coordinator that takes part. */
export function namesFault(
  members: readonly Member[],
  coordinator: Member | undefined,
  limits: WorkflowLimits,
): Refusal | null {
  const people: PlacedAgent[] = members.map((each, index) => ({
    agent: withInstruction(each),
    path: `members.${index}`,
  }))
  return agentsFault(
    coordinator === undefined
      ? people
      : [...people, { agent: withInstruction(coordinator), path: 'coordinator' }],
    limits,
  )
}

export function withInstruction(member: Member): WorkflowAgentSpec {
  const { system_prompt: _, profile: __, instruction = 'Do what you are asked.', ...spec } = member
  return { ...spec, instruction }
}

/** The initial state of a team (AT-11): the given keys, and the four keys that always exist. */
export function initialState(given: JsonObject, message: string): JsonObject {
  const context = given['task_context']
  const task_context = context === undefined || isObject(context) ? { message, ...context } : context
  return { member_outputs: {}, coordination_plan: {}, custom_data: {}, ...given, task_context }
}

const isObject = (value: JsonObject[string]): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// What an event says to a person, and what its sentence needs besides the event.
import type { DataOf, EventType } from '../events/catalog.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { clip, excerpt, sentence } from './text.ts'
import { type Doer, whoDid } from './doer.ts'

/** Who did what an event records. */
export interface Actor {
  readonly type: 'client' | 'system' | 'daemon' | 'agent' | 'team' | 'node' | 'tool' | 'provider'
  readonly id: string
  readonly name: string
}

/** An event in words for people. */
export interface EventDescription {
  readonly actor: Actor
  /** Whom a list of lines names in its first column: `task`, `team`, a node, or an agent. */
  readonly who: string
  /** What happened, for such a line: the sentence without its subject. */
  readonly what: string
  /** The same as one sentence. */
  readonly text: string
  readonly status: 'started' | 'waiting' | 'done' | 'skipped' | 'failed' | 'blocked' | 'cancelled'
  /**
   * Whether it is news for somebody who follows the task. What the next event says again, and what only an
   * audit needs, is none.
   */
  readonly news: boolean
  /** Facts of the event, each of a bounded length, and `timeline_type`: the group of the event. */
  readonly metadata: JsonObject
}

/** What a sentence needs besides its event. */
export interface Surroundings {
  readonly taskId: string
  /** The run of the event. `null` if none is known. */
  readonly runId: string | null
  /** From `agentTitle`. */
  readonly agentName: string
  /** The team of the event, as it is now. */
  readonly team: { readonly workflow: string; readonly nodes: number; readonly completed: number } | null
  /** The tool of the run, if it is the run of a tool node: one call, without a model. */
  readonly nodeTool: string | null
  /** The call that the event decides about. */
  readonly asked: { readonly tool: string; readonly subject: string } | null
  /**
   * Whether the claim before was another daemon's. A daemon that claims again a task that waited takes
   * nothing over.
   */
  readonly takenOver: boolean
}

/** The function that tells an event of one type. */
export type Teller<T extends EventType> = (data: DataOf<T>, around: Surroundings) => EventDescription

/**
 * The name of an agent for people: a run that belongs to no team is the run of the root agent (D-07).
 *
 * @param run `null`: no run is known
 * @example agentTitle({ team_run_id: null, agent_name: 'root' }) // => 'Root agent'
 */
export const agentTitle = (
  run: { readonly team_run_id: string | null; readonly agent_name: string } | null,
): string => (run === null || run.team_run_id === null ? 'Root agent' : run.agent_name)

type Rest = Omit<EventDescription, 'actor' | 'who' | 'what' | 'text' | 'news' | 'metadata'> & {
  readonly group: string
  readonly news?: boolean
  readonly metadata?: JsonObject
}

const textCharsMax = 600
const factCharsMax = 400

/**
 * Names and ids come from models and from clients, and may have any length: here all of it gets its bound.
 */
function describe(
  actor: Actor,
  { who, what, text }: { who: string; what: string; text: string },
  { group, news = true, metadata = {}, status }: Rest,
): EventDescription {
  return {
    actor: { ...actor, id: clip(actor.id, factCharsMax), name: clip(actor.name, factCharsMax) },
    who: excerpt(who),
    what: excerpt(what, textCharsMax),
    text: excerpt(text, textCharsMax),
    status,
    news,
    metadata: { ...(bounded(metadata) as JsonObject), timeline_type: group },
  }
}

function bounded(value: JsonValue): JsonValue {
  if (typeof value === 'string') return clip(value, factCharsMax)
  if (Array.isArray(value)) return value.map(bounded)
  return value === null || typeof value !== 'object'
    ? value
    : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, bounded(each as JsonValue)]))
}

/** The task itself did it, or it was done to the task. */
export const ofTask = (
  what: string,
  rest: Rest,
  actor: Actor = { type: 'system', id: 'task-supervisor', name: 'Task supervisor' },
): EventDescription => describe(actor, { who: 'task', what, text: `Task ${what}` }, rest)

export const ofDaemon = (daemon: string, what: string, rest: Rest): EventDescription =>
  describe(
    { type: 'daemon', id: daemon, name: daemon },
    { who: 'daemon', what, text: `Daemon ${daemon} ${what}` },
    rest,
  )

export const ofAgent = (around: Surroundings, what: string, rest: Rest, actor?: Actor): EventDescription =>
  describe(
    actor ?? { type: 'agent', id: around.runId ?? '', name: around.agentName },
    { who: around.agentName, what, text: `${around.agentName} ${what}` },
    rest,
  )

/** Something that the agent uses did it: a tool, or a provider. */
export const forAgent = (around: Surroundings, actor: Actor, what: string, rest: Rest): EventDescription =>
  describe(actor, { who: around.agentName, what, text: `${around.agentName}: ${what}` }, rest)

export const ofPerson = (
  doer: Doer & { readonly by: string },
  what: string,
  rest: Rest,
): EventDescription => {
  const who = excerpt(whoDid(doer))
  return describe(
    { type: 'client', id: excerpt(doer.by), name: who },
    { who, what, text: `${who} ${what}` },
    rest,
  )
}

/** For example `, says bob (over gateway)`. Empty if the event names nobody. */
export const byWhom = (doer: Doer, word: string): string =>
  doer.by === undefined && doer.user_id === undefined ? '' : `${word}${excerpt(whoDid(doer))}`

export const ofTeam = (team: { id: string; workflow: string }, what: string, rest: Rest): EventDescription =>
  describe(
    { type: 'team', id: team.id, name: team.workflow },
    { who: 'team', what, text: `Team run ${what}` },
    rest,
  )

export const ofNode = (nodeId: string, what: string, rest: Rest): EventDescription =>
  describe(
    { type: 'node', id: nodeId, name: nodeId },
    { who: nodeId, what, text: `Node ${nodeId} ${what}` },
    rest,
  )

/** For example ` (evidence_missing): No list.` */
export const because = (failure: Failure | null): string =>
  failure === null ? '.' : ` (${failure.class}): ${sentence(excerpt(failure.message))}`

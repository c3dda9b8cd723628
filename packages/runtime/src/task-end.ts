// Decides what a task ends with, from the end of its root and the results of its teams. Pure. Success is
// never silent: a task with an empty final output, or with a judged team that is not complete, does not
// complete (D-35, D-60). A final text that does not meet the required evidence fails the task without an
// output (D-62, D-34).
import { type DomainEvent, event, type JsonValue, noUsage, type TaskResult, type Usage } from '@beaver/core'
import type { EvidenceRequirement, EvidenceVerdict, GivenFact } from '@beaver/core/evidence'
import { judgedTeams, type ToolFact } from '@beaver/core/fold'
import type { Failure } from '@beaver/core/supervision'
import { cleanTaint, isUnlabelled, joinTaints } from '@beaver/core/taint'
import { evaluateEvidence } from '@beaver/evidence'
import type { LoopEnd, TeamRefusal, TeamRunResult } from '@beaver/agent'
import type { EndedTeam } from './task-teams.ts'

const simulatedProvider = 'simulated'

/** The evidence that the final text of a task needs, and the facts for it. */
export interface TaskEvidence {
  readonly required: readonly EvidenceRequirement[]
  /** The text of the request. */
  readonly text: string
  /** The tool calls of the runs of its teams. */
  readonly tools: readonly ToolFact[]
}

/**
 * The terminal event of a task. The calls of the root alone decide which teams are judged (`judgedTeams` of
 * core), so a takeover changes nothing.
 *
 * @param ended the teams of the task that have ended, in any order
 * @param evidence absent: nothing is required
 */
export function taskEnd(
  root: LoopEnd,
  ended: readonly EndedTeam[],
  usage: Usage,
  evidence?: TaskEvidence,
): DomainEvent {
  const counted = judgedTeams(root.callsOfAnswers ?? [], ended)
  const teams = counted.map(({ result }) => result)
  const taint = joinTaints([root.taint ?? cleanTaint, ...teams.map((team) => team.taint ?? cleanTaint)])
  const judged =
    root.status === 'completed' && evidence !== undefined && evidence.required.length > 0
      ? judgedText(root, counted, evidence)
      : null
  const result = (failure: Failure | null): TaskResult => ({
    final_output: root.status === 'completed' && judged?.passed !== false ? root.facts.outputText : '',
    outputs: teams.flatMap((team) => team.outputs.map((each) => ({ ...each }))),
    usage,
    provider: root.provider,
    model: root.model,
    simulated: root.provider === simulatedProvider,
    failure,
    ...(judged === null ? {} : { evidence: judged.checks }),
    ...(failure === null && root.structured === true
      ? { output: JSON.parse(root.facts.outputText) as JsonValue }
      : {}),
    ...(isUnlabelled(taint) ? {} : { taint }),
  })
  if (root.status === 'cancelled') return event('task_cancelled', result(root.failure))
  const unfit = root.facts.outputText.trim() === '' ? {} : { unfit_output: root.facts.outputText }
  if (root.status === 'failed')
    return event('task_failed', {
      ...result(root.failure),
      ...(root.failure?.class === 'output_invalid' ? unfit : {}),
    })
  const [incomplete, ...more] = teams.filter((team) => team.outcome !== 'complete')
  if (incomplete !== undefined) return event('task_incomplete', result(teamsFailure(incomplete, more)))
  if (root.facts.outputText.trim() === '')
    return event('task_failed', result({ class: 'empty_output', message: 'The final answer is empty.' }))
  if (judged?.passed === false) {
    const missing = judged.checks.filter(({ status }) => status === 'failed').map(({ detail }) => detail)
    return event('task_failed', {
      ...result({ class: 'evidence_missing', message: missing.join(' ') }),
      ...unfit,
    })
  }
  return event('task_completed', result(null))
}

/**
 * Judges the final text like the output of a node that is given the outputs of the judged teams (D-62). No
 * text is evidence for itself: the words of a team, repeated as they are, are judged by what the team's
 * authors were given.
 */
function judgedText(
  { facts }: LoopEnd,
  teams: readonly EndedTeam[],
  { required, text, tools }: TaskEvidence,
): EvidenceVerdict {
  const said = facts.outputText.trim()
  const given = teams.map(({ result, material }): GivenFact =>
    result.final_output.trim() === said
      ? material()
      : { outputs: result.outputs.map(({ output }) => output), texts: [] },
  )
  const outputs = given.flatMap((each) => each.outputs).filter((output) => output.trim() !== said)
  return evaluateEvidence(required, {
    ...facts,
    tools: [...tools, ...facts.tools],
    given: { outputs, texts: [text, ...given.flatMap(({ texts }) => texts)] },
  })
}

/**
 * The end of a workflow task in the form of a root run's end. An incomplete task keeps the outputs that it
 * has.
 */
export function workflowEnd(
  team: TeamRunResult | TeamRefusal,
  of: { cancelled: string | null } & Pick<LoopEnd, 'provider' | 'model'>,
): LoopEnd {
  const facts = (outputText: string): LoopEnd['facts'] => ({ outputText, outputSeq: 0, tools: [] })
  const { provider, model } = of
  if ('refused' in team) {
    const { code, message } = team.refused
    const failure = { class: code === 'invalid_configuration' ? code : 'internal', message } as const
    return { status: 'failed', facts: facts(''), failure, usage: noUsage, provider, model }
  }
  if (of.cancelled !== null && team.outcome === 'cancelled')
    return {
      status: 'cancelled',
      facts: facts(team.final_output),
      failure: { class: 'cancelled', message: of.cancelled },
      usage: noUsage,
      provider,
      model,
    }
  return {
    status: 'completed',
    facts: facts(team.final_output),
    failure: null,
    usage: noUsage,
    provider,
    model,
  }
}

/** The class of the first incomplete team stands for all of them. The message names each. */
function teamsFailure(first: TeamRunResult, more: readonly TeamRunResult[]): Failure {
  const failure = teamFailure(first)
  return {
    ...failure,
    message: sentences([failure.message, ...more.map((team) => teamFailure(team).message)]),
  }
}

/** The first failed node's class stands for the team's; the message names them all. */
function teamFailure(team: TeamRunResult): Failure {
  if (team.stopped !== null)
    return {
      class: team.stopped.class,
      message: sentences([team.stopped.message, ...(team.message === null ? [] : [team.message])]),
    }
  const [first] = team.failures
  const reasons = team.failures.map(({ node_id, failure }) => `${node_id}: ${failure.message}`)
  return {
    class: first?.failure.class ?? 'cancelled',
    message: sentences([team.message ?? 'The team did not complete', ...reasons]),
  }
}

/** Joins parts that may or may not end with a full stop. */
const sentences = (parts: readonly string[]): string =>
  parts.map((part, i) => (i < parts.length - 1 ? part.replace(/\.$/, '') : part)).join('. ')

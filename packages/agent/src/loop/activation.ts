// Decides which skills a run has and which of them route it (SA-01). A named skill is the only one. A resumed
// run has its recorded skills. A worker gets a skill that guides a team only if it is named.
import type { DataOf } from '@beaver/core'
import type { RunState } from '@beaver/core/fold'
import { findGuidance } from '../skills/find-guidance.ts'
import { recallByWords } from '../skills/recall.ts'
import { type AssembleOptions, assembleSkills } from '../skills/skill-assembler.ts'
import type { Skill, WorkflowGuidance } from '../skills/skill.ts'
import { findIn, type Toolbox } from './assembly.ts'
import type { Routing } from './after-answer.ts'
import type { LoopServices } from './loop-services.ts'
import type { LoopPart } from './loop-spec.ts'

export interface Activation {
  readonly skills: readonly Skill[]
  /** `null` if no model and no endpoint was asked. */
  readonly selection: DataOf<'skill_selection_recorded'> | null
}

type AgentPart = Exclude<LoopPart, { kind: 'tool' }>

const queryCharsMax = 2_000
const nothing: Activation = { skills: [], selection: null }

export type Asking = Pick<
  AssembleOptions,
  'signal' | 'mark' | 'beforeAsking' | 'reserve' | 'reserveEmbedding' | 'onPaid'
>

/**
 * Returns the skills of a new run (D-40).
 *
 * @throws the abort of the signal, and what `beforeAsking` throws
 */
export async function activate(part: AgentPart, services: LoopServices, asking: Asking): Promise<Activation> {
  if (part.skill !== null)
    return { skills: services.skills.filter((skill) => skill.name === part.skill), selection: null }
  const query = part.kind === 'root' ? part.text : part.skillQuery
  if (query === null || services.skills.length === 0) return nothing
  if (services.skillSelection === 'model') return selected(query, part, services, asking)
  const found = part.kind === 'worker' ? assembleSkill(query, services.skills) : null
  return found === null ? nothing : { skills: [found], selection: null }
}

async function selected(
  query: string,
  part: AgentPart,
  services: LoopServices,
  asking: Asking,
): Promise<Activation> {
  const skills =
    part.kind === 'root' ? services.skills : services.skills.filter((skill) => skill.guidance === null)
  const onEmbeddingsFailed = (reason: string): void =>
    services.logger?.warn(
      'embeddings_failed',
      'Beaver got no embeddings, so it finds skills by their words.',
      { reason },
    )
  const selection = await assembleSkills(query, {
    skills,
    providers: services.providers,
    onEmbeddingsFailed,
    ...asking,
  })
  if (selection === null) return nothing
  const { recall, candidates, chosen, usage, provider, model, failure } = selection
  return {
    skills: chosen,
    selection: {
      query: query.slice(0, queryCharsMax).toWellFormed(),
      recall,
      candidates: candidates.map(({ name, score }) => ({ name, score })),
      chosen: chosen.map(({ name }) => name),
      usage,
      provider_name: provider,
      model,
      failure,
    },
  }
}

/**
 * The skills that route a root's first turn: those with valid guidance for a workflow tool that the run has,
 * in the order of their activation (RT-03). Guidance for another workflow is not shown, because it would
 * order a call of a tool that is not there.
 */
export function routingSkills<Guiding extends { readonly guidance: WorkflowGuidance | null }>(
  skills: readonly Guiding[],
  { teams, workflows }: Pick<Toolbox, 'teams' | 'workflows'>,
): Guiding[] {
  return skills.filter(
    ({ guidance }) => teams && guidance !== null && findIn(workflows, guidance.preferred_tool) !== undefined,
  )
}

/** What the run's first answer is classified by. `null` for a run without routing (D-02). */
export function routingOf(
  run: RunState,
  toolbox: Pick<Toolbox, 'teams' | 'workflows'>,
  loaded: readonly Skill[],
): Routing | null {
  if (!toolbox.teams || run.skills.length === 0 || run.executionMode !== null) return null
  const [primary, ...ignored] = routingSkills(
    run.skills.map((skill) => ({ name: skill.name, guidance: guidanceOf(skill, loaded) })),
    toolbox,
  )
  return primary === undefined ? null : { primary: primary.name, ignored: ignored.map(({ name }) => name) }
}

/** The journal has the skill as it was, because its file may have changed since. */
function guidanceOf(skill: RunState['skills'][number], loaded: readonly Skill[]): WorkflowGuidance | null {
  const same = loaded.find(({ name, sha256 }) => name === skill.name && sha256 === skill.sha256)
  return same === undefined ? findGuidance(skill.content, () => {}) : same.guidance
}

// Finds the skill for a worker's `skill_query` without a model (D-40): the best match whose name and
// description have at least half of the query's words; of equal matches the first. No worker gets a skill
// that guides a team, or one that models may not invoke.

const shareMin = 0.5

export function assembleSkill(query: string, skills: readonly Skill[]): Skill | null {
  const open = skills.filter((skill) => skill.modelInvocable && skill.guidance === null)
  return recallByWords(query, open, { oneWord: 'any' }).find(({ share }) => share >= shareMin)?.skill ?? null
}

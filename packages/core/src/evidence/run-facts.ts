// The evidence gate as core sees it, and what it reads of a run; @beaver/evidence has the gate itself. The
// facts are sent to another thread, so arguments and results that no requirement reads are left out.
import type { FilesFact, RunState, ToolFact } from '../fold/run-state.ts'
import type { EvidenceCheck, EvidenceDemands, EvidenceRequirement } from './requirement.ts'

/** What the gate found. It lets a result pass if no check failed. */
export interface EvidenceVerdict {
  readonly passed: boolean
  readonly checks: EvidenceCheck[]
}

/** Checks everything that a node demands. It is pure: a step of a team and a retry ask it again. */
export type EvidenceGate = (demands: EvidenceDemands, facts: RunFacts) => EvidenceVerdict

/**
 * The facts of a run that the gate reads. `outputSeq` is the `taskseq` of the answer with the output; 0 if
 * there is none.
 */
export interface RunFacts {
  readonly outputText: string
  readonly outputSeq: number
  readonly tools: readonly ToolFact[]
  /** What was found at the paths that requirements name. Absent or `null`: no paths were looked up. */
  readonly files?: FilesFact | null
  /** What the node was given. The gate adds it. Absent: it was given nothing. */
  readonly given?: GivenFact
}

/** What a node was given. */
export interface GivenFact {
  /** What others said: the outputs of nodes, and their texts in the instruction. */
  readonly outputs: readonly string[]
  /** The team's task and the words of the node's instruction. */
  readonly texts: readonly string[]
}

/**
 * The facts of a run.
 *
 * @param requirements the requirements that will read the facts; absent: all facts are kept
 * @example
 * const { outputText, tools } = factsOf(run)
 * outputText === run.outputText // => true
 * tools // => []
 */
export function factsOf(run: RunState, requirements?: readonly EvidenceRequirement[]): RunFacts {
  const { outputText, outputSeq, facts, files } = run
  const tools = requirements === undefined ? facts : facts.map((fact) => reduced(fact, requirements))
  return { outputText, outputSeq, tools, ...(files === null ? {} : { files }) }
}

function reduced(fact: ToolFact, requirements: readonly EvidenceRequirement[]): ToolFact {
  const { arguments: args, result, ...rest } = fact
  const needs = requirements.map((requirement) => needOf(requirement, fact))
  return {
    ...rest,
    ...(args !== undefined && needs.some((need) => need.arguments) ? { arguments: args } : {}),
    ...(result !== undefined && needs.some((need) => need.result) ? { result } : {}),
  }
}

const nothing = { arguments: false, result: false }

function needOf(
  requirement: EvidenceRequirement,
  { tool, success }: ToolFact,
): { arguments: boolean; result: boolean } {
  if (typeof requirement === 'string') return nothing
  switch (requirement.kind) {
    case 'tool_succeeded':
      return {
        arguments: requirement.tool === tool && requirement.arguments_match !== undefined,
        result: false,
      }
    case 'output_cites':
      return requirement.from_tool === tool && success ? { arguments: true, result: true } : nothing
    case 'numbers_from_tools':
      return { arguments: false, result: success && requirement.tools.includes(tool) }
    default:
      return nothing
  }
}

/**
 * The paths that the requirements name, each once.
 *
 * @example
 * filesToFind(['Name a source.', { kind: 'files_exist', paths: ['report.md', 'report.md'] }]) // => ['report.md']
 */
export function filesToFind(requirements: readonly EvidenceRequirement[]): string[] {
  return [
    ...new Set(
      requirements.flatMap((each) =>
        typeof each === 'object' && each.kind === 'files_exist' ? each.paths : [],
      ),
    ),
  ]
}

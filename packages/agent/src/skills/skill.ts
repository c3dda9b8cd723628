// A loaded skill: a SKILL.md folder. Its guidance advises the root agent which workflow tool to call and how
// to fill it. Guidance is never an execution graph (SK-01, SK-06).
import type { EvidenceRequirement } from '@beaver/core/evidence'

/** An agent that a skill's guidance proposes. */
export interface GuidanceAgent {
  readonly name: string
  readonly instruction: string
  readonly use_skill?: string | undefined
  readonly skill_query?: string | undefined
  readonly allowed_tool_names?: readonly string[] | null | undefined
  readonly required_evidence?: readonly EvidenceRequirement[] | undefined
  readonly validation_rules?: readonly EvidenceRequirement[] | undefined
  readonly evidence_contract?: string | undefined
}

/** The content of a `beaver-team-workflow` block. */
export interface WorkflowGuidance {
  readonly version: 1
  readonly preferred_tool: string
  readonly agents: readonly GuidanceAgent[]
  readonly output_boundary?:
    | { readonly allow: readonly string[]; readonly deny: readonly string[] }
    | undefined
  /** Further arguments of the preferred tool: `edges`, `output_agent`, `flow`, `aggregator`. */
  readonly [argument: string]: unknown
}

/** A loaded skill. */
export interface Skill {
  readonly name: string
  readonly description: string
  /** The text after the front matter, including the guidance block. */
  readonly body: string
  /** SHA-256 of the file's bytes. */
  readonly sha256: string
  readonly folder: string
  /** Whether it was found in a workspace and nobody configured it. Default: no. */
  readonly fromWorkspace?: boolean
  readonly guidance: WorkflowGuidance | null
  /**
   * Whether models may find and choose the skill. `false`: only a person or another skill names it
   * (`disable-model-invocation`).
   */
  readonly modelInvocable: boolean
  /**
   * The tools that the skill says it needs. `null`: it names none. The field neither adds nor removes a tool
   * (TA-01).
   */
  readonly allowedTools: readonly string[] | null
  readonly license: string | null
  readonly compatibility: string | null
}

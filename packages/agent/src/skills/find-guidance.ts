// Finds the `beaver-team-workflow` block in a skill's body: advice to the root agent for a tool call (D-44).
// The first valid block counts, unless a longer fence encloses it. A broken block is reported, and the skill
// still loads.
import { messageOf } from '@beaver/core'
import { plannedRequirement } from '@beaver/core/evidence'
import { findWorkflow } from '@beaver/workflows'
import { z } from 'zod'
import type { WorkflowGuidance } from './skill.ts'

// Loose, because the preferred tool checks its further arguments (edges, a flow, an aggregator) itself.
const guidance = z.looseObject({
  version: z.literal(1),
  preferred_tool: z.string().refine((name) => findWorkflow(name) !== null, {
    error: ({ input }) => `there is no workflow tool ${JSON.stringify(String(input).slice(0, 100))}`,
  }),
  agents: z
    .array(
      z.object({
        name: z.string().min(1),
        instruction: z.string().min(1),
        use_skill: z.string().optional(),
        skill_query: z.string().optional(),
        allowed_tool_names: z.array(z.string()).nullable().optional(),
        required_evidence: z.array(plannedRequirement).optional(),
        validation_rules: z.array(plannedRequirement).optional(),
        evidence_contract: z.string().min(1).optional(),
      }),
    )
    .min(1),
  deliver: z.enum(['root', 'user']).optional(),
  output_boundary: z
    .object({ allow: z.array(z.string()).default([]), deny: z.array(z.string()).default([]) })
    .optional(),
})

/** Finds the first valid `beaver-team-workflow` block that no longer fence encloses (D-44). */
export function findGuidance(
  body: string,
  tell: (severity: 'warning', message: string) => void,
): WorkflowGuidance | null {
  for (const { info, content, closed } of fencedBlocks(body)) {
    if (info !== 'beaver-team-workflow') continue
    if (!closed) {
      tell('warning', 'Its beaver-team-workflow block is never closed.')
      continue
    }
    try {
      const parsed = guidance.safeParse(JSON.parse(content))
      if (parsed.success) return parsed.data
      tell('warning', `Its beaver-team-workflow block is not valid: ${z.prettifyError(parsed.error)}`)
    } catch (error) {
      tell('warning', `Its beaver-team-workflow block is not JSON: ${messageOf(error)}`)
    }
  }
  return null
}

function* fencedBlocks(text: string): Generator<{ info: string; content: string; closed: boolean }> {
  let fence = ''
  let info = ''
  let lines: string[] = []
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)\s*$/.exec(line)
    if (fence === '') {
      if (mark === null) continue
      fence = mark[1] ?? ''
      info = mark[2] ?? ''
      lines = []
    } else if (
      mark !== null &&
      mark[2] === '' &&
      mark[1]?.[0] === fence[0] &&
      (mark[1]?.length ?? 0) >= fence.length
    ) {
      yield { info, content: lines.join('\n'), closed: true }
      fence = ''
    } else lines.push(line)
  }
  if (fence !== '') yield { info, content: lines.join('\n'), closed: false }
}

// Finds requirements that could not be checked. It runs when the graph is planned, so that a fault is known before the work is done.
import { schemaFault } from './output-schema.ts'
import { compilePattern } from './pattern.ts'
import { type EvidenceRequirement, evidenceRequirement } from './requirement.ts'

/** `message` continues a sentence that begins with the name of the place: "… is 9, more than max". */
export interface RequirementFault {
  /** The place within the requirement. */
  readonly path: readonly string[]
  readonly message: string
}

/** A requirement from a person or a model. It must be checkable. The journal keeps requirements that are not. */
export const plannedRequirement = evidenceRequirement.superRefine((value, context) => {
  const fault = requirementFault(value)
  if (fault !== null) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
})

export function requirementFault(requirement: EvidenceRequirement): RequirementFault | null {
  if (typeof requirement === 'string') return null
  switch (requirement.kind) {
    case 'output_length': {
      const { min = 0, max = Infinity } = requirement
      return min > max ? { path: ['min'], message: `is ${min}, but max is ${max}, so no output can pass` } : null
    }
    case 'output_matches': {
      const compiled = compilePattern(requirement.pattern)
      if ('test' in compiled) return null
      const message = `is ${JSON.stringify(requirement.pattern)}, which is not a regular expression that is bounded in time (RE2: no lookaround, no back reference): ${compiled.fault}`
      return { path: ['pattern'], message }
    }
    case 'output_schema': {
      const fault = schemaFault(requirement.schema)
      return fault === null ? null : { path: ['schema', ...fault.path], message: fault.message }
    }
    case 'output_cites': {
      const { sources, from_tool, times_min = 1, only } = requirement
      if (sources === undefined && from_tool === undefined) return { path: [], message: 'names neither sources nor from_tool. Name at least one of them' }
      if (from_tool === undefined && only === true)
        return { path: ['only'], message: 'needs from_tool, because without it Beaver does not know the allowed sources' }
      if (sources !== undefined && times_min > sources.length) {
        return { path: ['times_min'], message: `is ${times_min}, but there are fewer sources, so no output can pass` }
      }
      return null
    }
    case 'files_exist': {
      const at = requirement.paths.findIndex((path) => !isRelative(path))
      return at === -1
        ? null
        : { path: ['paths', String(at)], message: `is ${JSON.stringify(requirement.paths[at])}: write a path relative to the workspace, without ".."` }
    }
    case 'tool_succeeded':
    case 'output_contains':
    case 'numbers_from_tools':
      return null
    default:
      return requirement satisfies never
  }
}

const isRelative = (path: string): boolean => !/^([/\\]|[a-z]:)|\0/i.test(path) && !path.split(/[/\\]/).includes('..')

// Finds requirements that cannot be checked, or that no output or every output passes, before any work is
// done. A run with an empty answer fails before its checks, so a check that any other text passes checks
// nothing.
import { schemaFault } from './output-schema.ts'
import { compilePattern } from './pattern.ts'
import {
  type EvidenceRequirement,
  evidenceRequirement,
  type MachineRequirement,
  type RequirementFault,
} from './requirement.ts'

/**
 * A requirement from a person or a model. It must be checkable. The journal keeps requirements that are not.
 */
export const plannedRequirement = evidenceRequirement.superRefine((value, context) => {
  const fault = requirementFault(value)
  if (fault !== null) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
})

export function requirementFault(requirement: EvidenceRequirement): RequirementFault | null {
  if (typeof requirement === 'string') return null
  if ('path' in requirement && requirement.path !== undefined && !isPointer(requirement.path))
    return {
      path: ['path'],
      message: `is ${JSON.stringify(requirement.path)}, which is no JSON Pointer. Write a "/" before each step, such as /figures/0/total`,
    }
  return kindFault(requirement)
}

/**
 * Whether a text is a JSON Pointer: empty, or `/` before each step, in which `~` is only in `~0` and `~1`.
 *
 * @example
 * isPointer('/figures/0/a~1b') // => true
 * isPointer('figures.0') // => false
 */
export const isPointer = (text: string): boolean => /^(\/([^~/]|~[01])*)*$/.test(text)

function kindFault(requirement: MachineRequirement): RequirementFault | null {
  switch (requirement.kind) {
    case 'output_length': {
      const { min = 0, max = Infinity } = requirement
      if (min === 0 && max === Infinity)
        return {
          path: [],
          message: 'has no bound that an answer could break, so every output passes. Give min or max',
        }
      return min > max
        ? { path: ['min'], message: `is ${min}, but max is ${max}, so no output can pass` }
        : null
    }
    case 'output_matches': {
      const compiled = compilePattern(requirement.pattern)
      if ('test' in compiled) {
        const { pattern } = requirement
        return matchesAll(compiled.test)
          ? {
              path: ['pattern'],
              message: `is ${JSON.stringify(pattern)}, which every output matches. Say what it must contain`,
            }
          : null
      }
      const message = `is ${JSON.stringify(requirement.pattern)}, which is not a regular expression that is bounded in time (RE2: no lookaround, no back reference): ${compiled.fault}`
      return { path: ['pattern'], message }
    }
    case 'output_schema': {
      const fault = schemaFault(requirement.schema)
      return fault === null ? null : { path: ['schema', ...fault.path], message: fault.message }
    }
    case 'output_value': {
      const { equals, min, max } = requirement
      if (equals !== undefined && (min !== undefined || max !== undefined))
        return { path: ['equals'], message: 'is given beside a bound. Give the value or the bounds' }
      return min !== undefined && max !== undefined && min > max
        ? { path: ['min'], message: `is ${min}, but max is ${max}, so no output can pass` }
        : null
    }
    case 'output_cites': {
      const { sources, from_tool, times_min = 1, only } = requirement
      if (sources === undefined && from_tool === undefined)
        return { path: [], message: 'names neither sources nor from_tool. Name at least one of them' }
      if (from_tool === undefined && only === true)
        return {
          path: ['only'],
          message: 'needs from_tool, because without it Beaver does not know the allowed sources',
        }
      if (sources !== undefined && times_min > sources.length) {
        return {
          path: ['times_min'],
          message: `is ${times_min}, but there are fewer sources, so no output can pass`,
        }
      }
      return null
    }
    case 'files_exist': {
      const at = requirement.paths.findIndex((path) => !isRelative(path))
      return at === -1
        ? null
        : {
            path: ['paths', String(at)],
            message: `is ${JSON.stringify(requirement.paths[at])}: write a path relative to the workspace, without ".."`,
          }
    }
    case 'output_contains': {
      const at = requirement.texts.findIndex((text) => text.trim() === '')
      return at === -1
        ? null
        : {
            path: ['texts', String(at)],
            message: 'is blank, so nearly every output passes. Write the text that it must contain',
          }
    }
    case 'tool_succeeded':
    case 'numbers_from_tools':
    case 'numbers_from_dependencies':
    case 'quotes_from_dependencies':
      return null
    default:
      return requirement satisfies never
  }
}

/**
 * Whether a pattern matches every text: each character alone, and all of them together on several lines. A
 * pattern that matches all of these has nothing to find: `^`, `a*`, `.`, `(?s).*`.
 */
function matchesAll(test: (text: string) => boolean): boolean {
  const characters = [
    ...Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)),
    'é',
    '中',
    'я',
    '🙂',
    '\u00A0',
    '\uFFFD',
  ]
  // Most patterns do not match the first character, and this is found out at once.
  return [...characters, `${characters.join(' ')}\n\n\t${characters.toReversed().join('\n')}\n`].every(test)
}

const isRelative = (path: string): boolean =>
  !/^([/\\]|[a-z]:)|\0/i.test(path) && !path.split(/[/\\]/).includes('..')

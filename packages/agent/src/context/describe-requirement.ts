// Puts an evidence requirement into words for the worker: one sentence that says how to pass.
import type { EvidenceRequirement, MachineRequirement } from '@beaver/core'

export function describeRequirement(requirement: EvidenceRequirement): string {
  if (typeof requirement === 'string') return requirement
  if (requirement.kind === 'output_value') return valueWords(requirement)
  const said = wordsOf(requirement)
  const path = 'path' in requirement ? requirement.path : undefined
  return path === undefined
    ? said
    : `${said} Only the value at ${JSON.stringify(path)} of the final answer, which is JSON, counts for this.`
}

function valueWords({ path, equals, min, max }: MachineRequirement & { kind: 'output_value' }): string {
  const value =
    equals !== undefined
      ? JSON.stringify(equals)
      : min === undefined && max === undefined
        ? 'a value'
        : `a number of ${bounds({ min, max })}`
  return `The final answer must be JSON and have ${value} at ${JSON.stringify(path)} (a JSON Pointer).`
}

function wordsOf(requirement: Exclude<MachineRequirement, { kind: 'output_value' }>): string {
  switch (requirement.kind) {
    case 'tool_succeeded': {
      const { tool, times_min = 1, arguments_match } = requirement
      const having =
        arguments_match === undefined ? '' : ` with arguments that contain ${JSON.stringify(arguments_match)}`
      return `The tool ${tool} must be called${having} and succeed${times_min > 1 ? ` at least ${times_min} times` : ''}.`
    }
    case 'output_length':
      return `The final answer must have ${bounds(requirement)} characters.`
    case 'output_matches':
      return `The final answer must match the regular expression /${requirement.pattern}/.`
    case 'output_contains':
      return `The final answer must contain ${all(requirement.texts)}, exactly so.`
    case 'output_schema':
      return `The final answer must be JSON and nothing else (one fenced block is fine) that fits this JSON Schema: ${JSON.stringify(requirement.schema)}`
    case 'output_cites':
      return cites(requirement)
    case 'numbers_from_tools':
      return `Every number in the final answer must be in a result of ${requirement.tools.join(' or ')} that you got: nothing rounded, nothing added up${freeNumbers(requirement)}.`
    case 'numbers_from_dependencies':
      return `Every number in the final answer must be in what you were given: nothing rounded, nothing added up${freeNumbers(requirement)}.`
    case 'quotes_from_dependencies': {
      const { times_min = 1 } = requirement
      return `The final answer must quote at least ${times_min} ${times_min === 1 ? 'passage' : 'passages'} of the outputs that you were given, in quotation marks. Every quotation must occur there word for word.`
    }
    case 'files_exist':
      return `When you answer, ${requirement.paths.length === 1 ? 'this file' : 'these files'} must exist in the workspace: ${requirement.paths.map((path) => JSON.stringify(path)).join(', ')}.`
    default:
      return requirement satisfies never
  }
}

function cites({
  sources,
  from_tool,
  times_min,
  only,
}: MachineRequirement & { kind: 'output_cites' }): string {
  const limit = only === true ? ` It must cite no URL that ${from_tool} did not give.` : ''
  if (sources === undefined) {
    const wanted = times_min ?? 1
    return `The final answer must cite at least ${wanted} ${wanted === 1 ? 'URL' : 'different URLs'} that ${from_tool} gave you.${limit}`
  }
  const which =
    times_min === undefined || times_min === sources.length
      ? all(sources)
      : `at least ${times_min} of ${all(sources)}`
  return `The final answer must name ${which}${from_tool === undefined ? '' : `, and you must have it from ${from_tool}`}.${limit}`
}

function freeNumbers({
  allow = [],
  integers_below = 0,
}: {
  allow?: number[] | undefined
  integers_below?: number | undefined
}): string {
  const free = [
    ...(integers_below > 0 ? [`whole numbers below ${integers_below}`] : []),
    ...(allow.length > 0 ? [allow.join(', ')] : []),
  ]
  return free.length === 0 ? '' : `; free are ${free.join(' and ')}`
}

const all = (texts: readonly string[]): string => texts.map((text) => JSON.stringify(text)).join(' and ')

const bounds = ({ min, max }: { min?: number | undefined; max?: number | undefined }): string =>
  [...(min === undefined ? [] : [`at least ${min}`]), ...(max === undefined ? [] : [`at most ${max}`])].join(
    ' and ',
  ) || 'any number of'

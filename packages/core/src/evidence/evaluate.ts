// The gate: decides whether a run did what its node requires. It reads the facts of the journal. A claim in a
// text proves nothing. The gate is pure. A natural-language requirement is `not_checked` and fails nothing
// (D-11). Every verdict names the events on which it rests. A missing fact satisfies no requirement.
import { argumentsMatch } from './arguments-match.ts'
import { citesVerdict } from './cites.ts'
import { givenNumbersVerdict, numbersVerdict } from './numbers-verdict.ts'
import { looksInside, verdictAt } from './output-part.ts'
import { schemaMismatch } from './output-schema.ts'
import { compilePattern } from './pattern.ts'
import { quotesVerdict } from './quotes-verdict.ts'
import type {
  EvidenceCheck,
  EvidenceDemands,
  EvidenceRequirement,
  MachineRequirement,
} from './requirement.ts'
import type { RunFacts } from './run-facts.ts'
import { listed, quoted, times, type Verdict } from './verdict.ts'

/**
 * Checks everything that a node demands, each field in its order. A node that demands nothing has no checks.
 */
export function evaluateNode(
  demands: EvidenceDemands,
  facts: RunFacts,
): { passed: boolean; checks: EvidenceCheck[] } {
  const { required_evidence, validation_rules = [], evidence_contract } = demands
  const required = evaluateEvidence(required_evidence, facts)
  const rules = evaluateEvidence(validation_rules, facts)
  return {
    passed: required.passed && rules.passed,
    checks: [
      ...required.checks,
      ...rules.checks.map((each): EvidenceCheck => ({ field: 'validation_rules', ...each })),
      ...(evidence_contract === undefined
        ? []
        : [{ field: 'evidence_contract' as const, ...notChecked(evidence_contract) }]),
    ],
  }
}

/**
 * Checks a list of requirements, in their order. It passes if no check failed; a check that is `not_checked`
 * does not fail.
 *
 * @example
 * const facts = { outputText: 'Spring tide: 4.1 m', outputSeq: 9, tools: [] }
 * evaluateEvidence([{ kind: 'output_contains', texts: ['4.1 m'] }], facts).passed // => true
 * evaluateEvidence([{ kind: 'tool_succeeded', tool: 'web_search' }], facts).passed // => false
 */
export function evaluateEvidence(
  requirements: readonly EvidenceRequirement[],
  facts: RunFacts,
): { passed: boolean; checks: EvidenceCheck[] } {
  const checks = requirements.map((requirement) => check(requirement, facts))
  return { passed: checks.every((each) => each.status !== 'failed'), checks }
}

function check(requirement: EvidenceRequirement, facts: RunFacts): EvidenceCheck {
  if (typeof requirement === 'string') return notChecked(requirement)
  const { passed, detail, restsOn } = verdict(requirement, facts)
  return {
    requirement,
    status: passed ? 'passed' : 'failed',
    detail,
    rests_on: [...new Set(restsOn)].filter((seq) => seq > 0).toSorted((a, b) => a - b),
  }
}

function notChecked(requirement: string): EvidenceCheck {
  return {
    requirement,
    status: 'not_checked',
    detail: 'Natural language is shown to the worker and not checked by code.',
    rests_on: [],
  }
}

function verdict(requirement: MachineRequirement, facts: RunFacts): Verdict {
  return looksInside(requirement)
    ? verdictAt(requirement, facts, (part) => verdictOf(requirement, part))
    : verdictOf(requirement, facts)
}

/** The verdict on a whole output. */
function verdictOf(requirement: MachineRequirement, facts: RunFacts): Verdict {
  const { outputText: output, outputSeq } = facts
  const ofOutput = (passed: boolean, detail: string): Verdict => ({ passed, detail, restsOn: [outputSeq] })
  switch (requirement.kind) {
    case 'tool_succeeded':
      return toolVerdict(requirement, facts)
    case 'output_length': {
      const { min = 0, max = Infinity } = requirement
      const bounds = [
        ...(min > 0 ? [`at least ${min}`] : []),
        ...(max < Infinity ? [`at most ${max}`] : []),
      ].join(' and ')
      return ofOutput(
        output.length >= min && output.length <= max,
        `The output has ${output.length} characters; ${bounds || 'any number'} required.`,
      )
    }
    case 'output_matches': {
      const { pattern } = requirement
      const compiled = compilePattern(pattern)
      if ('fault' in compiled)
        return ofOutput(false, `The output cannot be checked against /${pattern}/: ${compiled.fault}.`)
      const passed = compiled.test(output)
      return ofOutput(passed, `The output ${passed ? 'matches' : 'does not match'} /${pattern}/.`)
    }
    case 'output_contains': {
      const missing = requirement.texts.filter((text) => !output.includes(text))
      const all = requirement.texts.length
      return ofOutput(
        missing.length === 0,
        missing.length === 0
          ? `The output contains ${listed(requirement.texts.map(quoted))}.`
          : `The output does not contain ${missing.length} of ${all} required ${all === 1 ? 'text' : 'texts'}: ${listed(missing.map(quoted))}.`,
      )
    }
    case 'output_schema': {
      const mismatch = schemaMismatch(requirement.schema, output)
      return ofOutput(
        mismatch === null,
        mismatch === null ? 'The output fits its JSON Schema.' : `The output ${mismatch}.`,
      )
    }
    case 'output_cites':
      return citesVerdict(requirement, facts)
    case 'numbers_from_tools':
      return numbersVerdict(requirement, facts)
    case 'numbers_from_dependencies':
      return givenNumbersVerdict(requirement, facts)
    case 'quotes_from_dependencies':
      return quotesVerdict(requirement, facts)
    case 'output_value':
      // It always looks at a place.
      return ofOutput(false, 'The check names no place of the output.')
    case 'files_exist':
      return filesVerdict(requirement.paths, facts)
    default:
      return requirement satisfies never
  }
}

function toolVerdict(
  { tool, times_min = 1, arguments_match }: MachineRequirement & { kind: 'tool_succeeded' },
  facts: RunFacts,
): Verdict {
  const named = facts.tools.filter((fact) => fact.tool === tool)
  const calls =
    arguments_match === undefined
      ? named
      : named.filter(
          (fact) => fact.arguments !== undefined && argumentsMatch(fact.arguments, arguments_match),
        )
  const good = calls.filter((fact) => fact.success)
  const having =
    arguments_match === undefined ? '' : ` with arguments that contain ${JSON.stringify(arguments_match)}`
  const others = named.length - calls.length
  const detail =
    calls.length === 0
      ? `The tool ${tool} was not called${having}${others === 0 ? '' : ` (${times(others)} with others)`}.`
      : `The tool ${tool} was called ${times(calls.length)}${having} and succeeded ${times(good.length)}; ${times(times_min)} required.`
  const read = calls.length === 0 ? named : calls
  const asked = arguments_match === undefined ? [] : read.map((fact) => fact.askedSeq ?? 0)
  return {
    passed: good.length >= times_min,
    detail,
    restsOn: [...read.map((fact) => fact.taskseq), ...asked],
  }
}

function filesVerdict(paths: readonly string[], { files }: RunFacts): Verdict {
  const restsOn = [files?.taskseq ?? 0]
  const found = new Map(files?.found.map((file) => [file.path, file]))
  const missing = paths.filter((path) => found.get(path)?.found !== 'file')
  if (missing.length > 0) {
    const why = missing.map(
      (path) => `${quoted(path)} ${absence[found.get(path)?.found ?? 'unknown'] ?? absence['unknown']}`,
    )
    return {
      passed: false,
      detail: `${missing.length} of ${paths.length} required ${paths.length === 1 ? 'file' : 'files'} missing: ${listed(why)}.`,
      restsOn,
    }
  }
  return {
    passed: true,
    detail: `${listed(paths.map((path) => `${quoted(path)} (${found.get(path)?.bytes ?? 0} bytes)`))} ${paths.length === 1 ? 'exists' : 'exist'} in the workspace.`,
    restsOn,
  }
}

const absence: Readonly<Record<string, string>> = {
  missing: 'is not there',
  folder: 'is a folder',
  other: 'is no regular file',
  refused: 'lies outside of the workspace',
  unreadable: 'may not be read',
  unknown: 'was not looked for',
}

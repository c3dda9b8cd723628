// The gate: does what a run did satisfy what its node requires? Read from the journal's facts, never from the claim in the text.
// V1. Pure. V2. A natural-language requirement is `not_checked` and fails nothing (D-11). V3. Every verdict names the
//     events it rests on.
import type { RunState, ToolFact } from '../fold/run-state.ts'
import type { EvidenceCheck, EvidenceRequirement, MachineRequirement } from './requirement.ts'

/** What the gate reads of a run. */
export interface RunFacts {
  readonly outputText: string
  readonly outputSeq: number
  readonly tools: readonly ToolFact[]
}

export function factsOf(run: RunState): RunFacts {
  return { outputText: run.outputText, outputSeq: run.outputSeq, tools: run.facts }
}

export function evaluateEvidence(requirements: readonly EvidenceRequirement[], facts: RunFacts): { passed: boolean; checks: EvidenceCheck[] } {
  const checks = requirements.map((requirement) => check(requirement, facts))
  return { passed: checks.every((each) => each.status !== 'failed'), checks }
}

function check(requirement: EvidenceRequirement, facts: RunFacts): EvidenceCheck {
  if (typeof requirement === 'string') {
    return { requirement, status: 'not_checked', detail: 'Natural language is shown to the worker and not checked by code.', rests_on: [] }
  }
  const { passed, detail, restsOn } = verdict(requirement, facts)
  return { requirement, status: passed ? 'passed' : 'failed', detail, rests_on: restsOn.filter((seq) => seq > 0) }
}

function verdict(requirement: MachineRequirement, facts: RunFacts): { passed: boolean; detail: string; restsOn: number[] } {
  switch (requirement.kind) {
    case 'tool_succeeded': {
      const calls = facts.tools.filter((fact) => fact.tool === requirement.tool)
      const good = calls.filter((fact) => fact.success)
      const wanted = requirement.times_min ?? 1
      const detail =
        calls.length === 0
          ? `The tool ${requirement.tool} was not called.`
          : `The tool ${requirement.tool} was called ${times(calls.length)} and succeeded ${times(good.length)}; ${times(wanted)} required.`
      return { passed: good.length >= wanted, detail, restsOn: calls.map((fact) => fact.taskseq) }
    }
    case 'output_length': {
      const length = facts.outputText.length
      const { min = 0, max = Infinity } = requirement
      const bounds = [...(min > 0 ? [`at least ${min}`] : []), ...(max < Infinity ? [`at most ${max}`] : [])].join(' and ')
      return {
        passed: length >= min && length <= max,
        detail: `The output has ${length} characters; ${bounds || 'any number'} required.`,
        restsOn: [facts.outputSeq],
      }
    }
    case 'output_matches': {
      const passed = matches(requirement.pattern, facts.outputText)
      const said = passed === null ? 'cannot be checked: it is no regular expression' : passed ? 'matches' : 'does not match'
      return { passed: passed === true, detail: `The output ${said} /${requirement.pattern}/.`, restsOn: [facts.outputSeq] }
    }
    default:
      return requirement satisfies never
  }
}

const times = (n: number): string => (n === 1 ? 'once' : `${n} times`)

/** `null` for a pattern that does not compile. */
function matches(pattern: string, text: string): boolean | null {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return null
  }
}

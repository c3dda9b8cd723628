// Shared by the tests of the gate: short forms of facts and calls, and a verdict as one object.
import type { MachineRequirement, RunFacts } from '@beaver/core/evidence'
import { evaluateEvidence } from '../src/index.ts'

export const factsWith = (outputText: string, over: Partial<RunFacts> = {}): RunFacts => ({
  outputText,
  outputSeq: 20,
  tools: [],
  ...over,
})

/** A call with its result at `taskseq`. The answer that asked for it is one position before. */
export const call = (
  taskseq: number,
  tool: string,
  result: string,
  args: unknown = {},
  success = true,
): RunFacts['tools'][number] => ({
  taskseq,
  tool,
  success,
  askedSeq: taskseq - 1,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
  result,
})

export function verdict(
  requirement: MachineRequirement,
  of: RunFacts,
): { passed: boolean; detail: string; rests_on: readonly number[] | undefined } {
  const [check] = evaluateEvidence([requirement], of).checks
  return { passed: check?.status === 'passed', detail: check?.detail ?? '', rests_on: check?.rests_on }
}

export const passes = (requirement: MachineRequirement, of: RunFacts): boolean =>
  verdict(requirement, of).passed

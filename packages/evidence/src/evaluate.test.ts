import { type EvidenceRequirement, evidenceRequirement, type RunFacts } from '@beaver/core/evidence'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { evaluateEvidence } from './evaluate.ts'

const facts: RunFacts = {
  outputText: 'Revenue: 4.2 bn\n净利润上升',
  outputSeq: 9,
  tools: [
    { taskseq: 3, tool: 'web_search', success: true },
    { taskseq: 5, tool: 'web_search', success: false },
    { taskseq: 7, tool: 'web_fetch', success: false },
  ],
}
const nothing: RunFacts = { outputText: '', outputSeq: 0, tools: [] }
const only = (requirement: EvidenceRequirement, of = facts) => {
  const { passed, checks } = evaluateEvidence([requirement], of)
  return { passed, status: checks[0]?.status, detail: checks[0]?.detail, rests_on: checks[0]?.rests_on }
}

describe('no requirements', () => {
  it('pass every run', () => expect(evaluateEvidence([], nothing)).toEqual({ passed: true, checks: [] }))
})

describe('a natural-language requirement (D-11)', () => {
  it('is not checked and fails nothing, even if the run did nothing', () => {
    expect(only('at least two dated sources', nothing)).toMatchObject({
      passed: true,
      status: 'not_checked',
      rests_on: [],
    })
  })

  it('does not rescue a result that fails another requirement', () => {
    const { passed, checks } = evaluateEvidence(
      ['two sources', { kind: 'tool_succeeded', tool: 'exec' }],
      facts,
    )
    expect(passed).toBe(false)
    expect(checks.map((check) => check.status)).toEqual(['not_checked', 'failed'])
  })
})

describe('tool_succeeded', () => {
  it('passes if the tool succeeded once, and rests on every call of the tool', () => {
    expect(only({ kind: 'tool_succeeded', tool: 'web_search' })).toMatchObject({
      passed: true,
      status: 'passed',
      rests_on: [3, 5],
    })
  })

  it('counts only successes', () => {
    expect(only({ kind: 'tool_succeeded', tool: 'web_search', times_min: 2 })).toEqual({
      passed: false,
      status: 'failed',
      detail: 'The tool web_search was called 2 times and succeeded once; 2 times required.',
      rests_on: [3, 5],
    })
    expect(only({ kind: 'tool_succeeded', tool: 'web_fetch' })).toMatchObject({
      passed: false,
      rests_on: [7],
    })
  })

  it('fails for a tool that was not called, whatever the text claims', () => {
    const claimed = { ...facts, outputText: 'I called exec and it succeeded.' }
    expect(only({ kind: 'tool_succeeded', tool: 'exec' }, claimed)).toEqual({
      passed: false,
      status: 'failed',
      detail: 'The tool exec was not called.',
      rests_on: [],
    })
  })

  it('compares names exactly', () =>
    expect(only({ kind: 'tool_succeeded', tool: 'Web_Search' }).passed).toBe(false))
})

describe('output_length', () => {
  const of = (outputText: string) => ({ ...nothing, outputText, outputSeq: 2 })

  it('includes both bounds', () => {
    const bounds = { kind: 'output_length', min: 2, max: 3 } as const
    expect(['a', 'ab', 'abc', 'abcd'].map((text) => only(bounds, of(text)).passed)).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  it('has no limit where a bound is missing', () => {
    expect(only({ kind: 'output_length', min: 1 }, of('x'.repeat(100_000))).passed).toBe(true)
    expect(only({ kind: 'output_length', max: 1 }, of('')).passed).toBe(true)
    expect(only({ kind: 'output_length' }, of('')).passed).toBe(true)
  })

  it('says how long the output is and what is required, and rests on the answer', () => {
    expect(only({ kind: 'output_length', min: 2, max: 3 }, of('abcd'))).toMatchObject({
      detail: 'The output has 4 characters; at least 2 and at most 3 required.',
      rests_on: [2],
    })
  })

  it('rests on nothing if there was no answer', () => {
    expect(only({ kind: 'output_length', min: 1 }, nothing)).toMatchObject({ passed: false, rests_on: [] })
  })
})

describe('output_matches', () => {
  it('searches the whole output as Unicode', () => {
    expect(only({ kind: 'output_matches', pattern: '\\p{Script=Han}{3,}' })).toMatchObject({
      passed: true,
      rests_on: [9],
    })
    expect(only({ kind: 'output_matches', pattern: '^Revenue: [\\d.]+ bn' })).toMatchObject({ passed: true })
  })

  it('fails with the pattern in its detail', () => {
    expect(only({ kind: 'output_matches', pattern: '^Loss' })).toEqual({
      passed: false,
      status: 'failed',
      detail: 'The output does not match /^Loss/.',
      rests_on: [9],
    })
  })
})

it('gives one verdict for each requirement, in their order, and passes exactly if none failed', () => {
  const requirement: fc.Arbitrary<EvidenceRequirement> = fc.oneof(
    fc.constant('natural language'),
    fc.record({
      kind: fc.constant('tool_succeeded' as const),
      tool: fc.constantFrom('web_search', 'web_fetch', 'exec'),
      times_min: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({
      kind: fc.constant('output_length' as const),
      min: fc.nat(30),
      max: fc.integer({ min: 1, max: 60 }),
    }),
  )
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 6 }), (requirements) => {
      const { passed, checks } = evaluateEvidence(requirements, facts)
      expect(checks.map((check) => check.requirement)).toEqual(requirements)
      expect(passed).toBe(checks.every((check) => check.status !== 'failed'))
      for (const [index, check] of checks.entries())
        expect(evaluateEvidence([requirements[index] as EvidenceRequirement], facts).checks).toEqual([check])
    }),
    { numRuns: 200 },
  )
})

it('refuses requirements with unknown fields or unknown kinds', () => {
  for (const odd of [
    '',
    { kind: 'vibes' },
    { kind: 'tool_succeeded' },
    { kind: 'tool_succeeded', tool: 'x', more: 1 },
    { kind: 'tool_succeeded', tool: 'x', times_min: 0 },
    { kind: 'output_matches', pattern: '' },
  ]) {
    expect(evidenceRequirement.safeParse(odd).success).toBe(false)
  }
})

it('refuses a pattern that does not compile, or fails its check, and never throws at the gate', () => {
  const requirement = { kind: 'output_matches', pattern: '(' }
  const parsed = evidenceRequirement.safeParse(requirement)
  expect(parsed.success ? only(parsed.data).passed : false).toBe(false)
})

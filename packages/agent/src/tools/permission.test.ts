import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { permissionOf, type PermissionRule } from './permission.ts'
import type { Tool } from './tool.ts'

const tool = (over: Partial<Tool> = {}): Tool => ({
  name: 'run_command',
  description: '',
  parameters: {},
  idempotent: false,
  invoke: async () => '',
  ...over,
})
const bySubject = tool({ subject: (args) => (args as { line: string }).line })
const rule = (text: string): PermissionRule => {
  const [decision, name = '', ...pattern] = text.split(' ')
  return {
    decision: decision as 'allow',
    tool: name,
    ...(pattern.length === 0 ? {} : { pattern: pattern.join(' ') }),
  }
}
const decide = (line: string, ...rules: string[]): string =>
  permissionOf(bySubject, { line }, rules.map(rule)).decision

describe('the decision', () => {
  it('without a rule is the tool’s own, and "allow" when it has none', () => {
    expect(permissionOf(tool({ permission: 'ask' }), {}, [])).toEqual({
      decision: 'ask',
      subject: '{}',
      rule: null,
    })
    expect(permissionOf(tool(), {}, [rule('deny other_tool')]).decision).toBe('allow')
  })

  it('is that of the first rule that matches, and tells it', () => {
    const rules = ['deny run_command git push*', 'allow run_command git *', 'deny *'].map(rule)
    expect(permissionOf(bySubject, { line: 'git push -f' }, rules)).toEqual({
      decision: 'deny',
      subject: 'git push -f',
      rule: 'deny run_command git push*',
    })
    expect(permissionOf(bySubject, { line: 'git status' }, rules).rule).toBe('allow run_command git *')
    expect(permissionOf(bySubject, { line: 'rm -rf .' }, rules)).toMatchObject({
      decision: 'deny',
      rule: 'deny *',
    })
  })

  test.each([
    ['git *', 'git status', true],
    ['git *', 'git', false],
    ['git *', 'xgit status', false],
    ['*', '', true],
    ['', '', true],
    ['', 'x', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*b*c', 'a1b2c', true],
    ['a*b*c', 'acb', false],
    ['**a**', 'xay', true],
    ['*.txt', 'a.txt.exe', false],
    ['a.c', 'abc', false],
    ['(a|b)[c]\\d+$', '(a|b)[c]\\d+$', true],
    ['line*end', 'line\nbreak\nend', true],
    ['GIT *', 'git status', false],
  ])('%j stands for %j: %s', (pattern, subject, fits) => {
    expect(
      permissionOf(bySubject, { line: subject }, [{ tool: '*', pattern, decision: 'deny' }]).decision,
    ).toBe(fits ? 'deny' : 'allow')
  })

  it('of a pattern of its own parts is always a match, with anything for the stars', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n') }), { minLength: 1, maxLength: 6 }),
        fc.string(),
        (parts, filling) => {
          expect(
            permissionOf(bySubject, { line: parts.join(filling) }, [
              { tool: '*', pattern: parts.join('*'), decision: 'deny' },
            ]).decision,
          ).toBe('deny')
        },
      ),
    )
  })

  it('agrees with the plain definition of a star', () => {
    const definition = (pattern: string, text: string): boolean => {
      if (pattern === '') return text === ''
      if (pattern[0] === '*')
        return definition(pattern.slice(1), text) || (text !== '' && definition(pattern, text.slice(1)))
      return text[0] === pattern[0] && definition(pattern.slice(1), text.slice(1))
    }
    const unit = fc.constantFrom('a', 'b')
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 }),
        fc.string({ unit, maxLength: 8 }),
        (pattern, line) => {
          expect(
            permissionOf(bySubject, { line }, [{ tool: '*', pattern, decision: 'deny' }]).decision === 'deny',
          ).toBe(definition(pattern, line))
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('does not take long for a pattern of many stars', async () => {
    const work = (): void =>
      expect(decide('a'.repeat(100_000), `deny run_command ${'*a'.repeat(5_000)}*b`)).toBe('allow')
    expect(await ownMs(work)).toBeLessThan(1_000)
  })
})

describe('what cannot be evaluated is denied', () => {
  const throwing = (thrown: unknown): Tool =>
    tool({
      subject: () => {
        throw thrown
      },
    })

  test.each([
    ['a subject that throws', throwing(new Error('no path')), {}, 'no path'],
    ['a subject that throws what cannot be shown', throwing({ toString: null }), {}, 'cannot be shown'],
    ['a subject that is no text', tool({ subject: () => 7 as never }), {}, 'a number'],
    ['arguments that have no JSON', tool(), { a: 1n }, 'BigInt'],
  ])('%s', (_, of, args, words) => {
    const decision = permissionOf(of, args, [rule('allow *')])
    expect(decision).toMatchObject({ decision: 'deny', rule: expect.stringContaining(words) as string })
  })
})

describe('the subject', () => {
  it('is the arguments as JSON where the tool has none', () => {
    expect(permissionOf(tool(), { a: 1 }, []).subject).toBe('{"a":1}')
    expect(permissionOf(tool({ subject: () => null }), { a: 1 }, []).subject).toBe('{"a":1}')
  })

  it('hides nothing from whoever decides', () => {
    const { subject } = permissionOf(
      bySubject,
      { line: 'ls\u001b[2K\rrm -rf .\u202egnp.exe\u2028\uD800' },
      [],
    )
    expect(subject).toBe('ls\\u{1b}[2K\\u{d}rm -rf .\\u{202e}gnp.exe\\u{2028}\uFFFD')
  })

  it('is matched whole and shown as far as one reads, told', () => {
    const line = `${'x'.repeat(30_000)}end`
    const decision = permissionOf(bySubject, { line }, [rule('deny run_command *end')])
    expect(decision.decision).toBe('deny')
    expect(decision.subject).toMatch(/^x{20000} … \[cut: 10003 more characters\]$/)
  })
})

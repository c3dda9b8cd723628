// The gate and the checker share no code, and judge a value at a place of an output in the same way, whatever
// the output and the place are.
import { passesAt } from '@beaver/check'
import type { MachineRequirement } from '@beaver/core/evidence'
import { evaluateEvidence } from '@beaver/evidence'
import fc from 'fast-check'
import { expect, it } from 'vitest'

type Requirement = MachineRequirement & { readonly kind: 'output_value' }

const agree = (requirement: Requirement, output: string): boolean => {
  const { passed } = evaluateEvidence([requirement], { outputText: output, outputSeq: 1, tools: [] })
  return passed === passesAt({ ...requirement }, output)
}

const step = fc.constantFrom(
  '',
  'a',
  'b',
  '0',
  '1',
  '01',
  '-',
  'length',
  '__proto__',
  'constructor',
  'toString',
  '~',
  '~0',
  '~1',
  '~2',
  '~01',
  'a~1b',
  'm~0n',
)
const pointer = fc.oneof(
  fc.array(step, { maxLength: 4 }).map((steps) => steps.map((each) => `/${each}`).join('')),
  fc.constantFrom('a', '0', '#/a', ' /a', '/a '),
)
const name = fc.constantFrom('a', 'b', '0', '', '__proto__', 'constructor', 'a/b', 'm~n', '~', '~1')
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, 1, -0, 1.5, 1e21, '', 'a', '1'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 3 }).map((fields) => Object.fromEntries(fields)),
  ),
}))
const around = fc.constantFrom(
  (text: string) => text,
  (text: string) => ` \n${text}\u00A0\n`,
  (text: string) => `\`\`\`json\n${text}\n\`\`\``,
  (text: string) => `~~~\n${text}\n~~~~ `,
  (text: string) => `\`\`\`\`\n${text}\n\`\`\`\nmore`,
  (text: string) => `It is ${text}`,
)
const demand = fc.oneof(
  json.map((equals) => ({ equals: equals as Requirement['equals'] })),
  fc.record({ min: fc.constantFrom(-1, 0, 1.5), max: fc.constantFrom(0, 1, 1e22) }, { requiredKeys: [] }),
)

it('a value at any place of any output', () => {
  fc.assert(
    fc.property(json, around, pointer, demand, (value, wrap, path, more) => {
      // A name that JavaScript treats in its own way is a field as any other in JSON.
      const output = wrap(JSON.stringify(value))
      expect(agree({ kind: 'output_value', path, ...more }, output)).toBe(true)
    }),
    { seed: 1803, numRuns: 4_000 },
  )
})

it('the value itself, found by its place', () => {
  fc.assert(
    fc.property(json, around, (value, wrap) => {
      const walk = (inside: unknown, at: string): void => {
        expect(
          agree(
            { kind: 'output_value', path: at, equals: inside as Requirement['equals'] },
            wrap(JSON.stringify(value)),
          ),
        ).toBe(true)
        if (typeof inside !== 'object' || inside === null) return
        for (const [key, each] of Object.entries(inside))
          walk(each, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      }
      walk(value, '')
    }),
    { seed: 1804, numRuns: 500 },
  )
})

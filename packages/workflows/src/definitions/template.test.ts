import type { JsonValue } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import type { Scope } from './expression.ts'
import { evaluateText, expressionsOf, renderedCharsMax, renderParts, renderValue } from './template.ts'

const scope: Scope = {
  inputs: { name: 'Ada', n: 2, o: { b: 1, a: [true] }, none: null, evil: '{{ inputs.name }}' },
  nodeField: () => null,
}

const renderText = (template: string, of: Scope): string =>
  renderParts(template, of, false)
    .map((part) => (typeof part === 'string' ? part : part.value))
    .join('')

describe('a template', () => {
  it.each<[JsonValue, JsonValue]>([
    ['plain', 'plain'],
    ['Hello {{ inputs.name }}!', 'Hello Ada!'],
    ['{{ inputs.n }}', 2],
    [' {{inputs.n}}\n', 2],
    ['{{ inputs.n }} of {{ inputs.n }}', '2 of 2'],
    ['{{ inputs.n }}{{ inputs.n }}', '22'],
    ['{{ inputs.o }}', { a: [true], b: 1 }],
    ['is {{ inputs.o }}', 'is {"a":[true],"b":1}'],
    ['{{ inputs.none }}', null],
    ['[{{ inputs.none }}]', '[]'],
    ['{{ "}}" + inputs.name + \'{{\' }}', '}}Ada{{'],
    ['{{ {"a": {"b": inputs.n}} }}', { a: { b: 2 } }],
    ['{{ "a\\"}}" }}x', 'a"}}x'],
    ['}} is text, { and } too', '}} is text, { and } too'],
    [
      { a: ['{{ inputs.n }}', 'n={{ inputs.n }}'], b: 3, c: null },
      { a: [2, 'n=2'], b: 3, c: null },
    ],
    ['', ''],
  ])('%j gives %j', (template, expected) => {
    expect(renderValue(template, scope)).toStrictEqual(expected)
  })

  it('is rendered once: braces that a value brings are text', () => {
    expect(renderText('{{ inputs.evil }}', scope)).toBe('{{ inputs.name }}')
  })

  it('as a text, is a text, whatever its only expression gives', () => {
    expect(renderText('{{ inputs.n }}', scope)).toBe('2')
    expect(renderText('{{ inputs.o }}', scope)).toBe('{"a":[true],"b":1}')
  })

  it('keeps a key __proto__ to itself', () => {
    const made = renderValue(JSON.parse('{"__proto__": {"a": "{{ inputs.n }}"}}') as JsonValue, scope)
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype)
    expect(JSON.stringify(made)).toBe('{"__proto__":{"a":2}}')
  })

  it('says what is wrong, with the expression', () => {
    expect(() => renderText('a {{ inputs.name', scope)).toThrow('has no closing "}}"')
    expect(() => renderText('a {{ 1 + }} b', scope)).toThrow('{{ 1 + }}: Unexpected')
    expect(() => renderText('a {{ }} b', scope)).toThrow('it is empty')
    expect(() => renderText('a {{ inputs.o.q }} b', scope)).toThrow('{{ inputs.o.q }}: No such key: q')
    expect(() => evaluateText('{{ inputs.n }} or so', scope)).toThrow(
      '"{{ inputs.n }} or so" is not one expression',
    )
    expect(() => evaluateText('inputs.n', scope)).toThrow('write "{{ … }}"')
  })

  it('does not grow without bound', () => {
    const large = { ...scope, inputs: { t: 'x'.repeat(renderedCharsMax / 2) } }
    expect(renderText('{{ inputs.t }}{{ inputs.t }}', large)).toHaveLength(renderedCharsMax)
    expect(() => renderText('{{ inputs.t }}{{ inputs.t }}!', large)).toThrow(
      `longer than ${renderedCharsMax}`,
    )
  })

  it('names all its expressions', () => {
    expect(
      expressionsOf({ a: ['{{ inputs.n }} {{ nodes.x.output }}'], b: '{{ item }}' }, { inMap: true }).map(
        (each) => each.source.trim(),
      ),
    ).toEqual(['inputs.n', 'nodes.x.output', 'item'])
  })
})

import { describe, expect, it } from 'vitest'
import { agentNameFault } from './agent-name.ts'

describe('agentNameFault', () => {
  it.each([
    'source_collector',
    'a',
    'Agent 2',
    'v1.2-beta',
    '收集者',
    'Аналитик',
    'مجمع',
    'हिन्दी',
    'ผู้วิเคราะห์',
    'é',
    '0',
    '_',
    '__proto__',
    '٣',
  ])('allows %j: any script', (name) => {
    expect(agentNameFault(name)).toBeNull()
  })

  it('counts characters, not UTF-16 units: 64 are allowed, 65 are not', () => {
    expect(agentNameFault('𠀀'.repeat(64))).toBeNull()
    expect(agentNameFault('𠀀'.repeat(65))).toContain('65 characters: use at most 64')
    expect(agentNameFault('a'.repeat(65))).toContain('65')
  })

  it('refuses an empty name', () => expect(agentNameFault('')).toContain('empty'))

  it.each([' a', 'a ', 'a\n', ' a\u3000'])('refuses %j: a leading or trailing space', (name) => {
    expect(agentNameFault(name)).toBe('begins or ends with a space: write "a"')
  })

  it('refuses a blank name', () => expect(agentNameFault(' ')).toContain('is blank'))

  it.each([
    ['a,b', 'holds , (U+002C)'],
    ['a->b', 'holds > (U+003E)'],
    ['a\u0000', 'holds U+0000'],
    ['a\nb', 'holds U+000A'],
    ['a\tb', 'holds U+0009'],
    ['a\u200Bb', 'holds U+200B'],
    ['a\u00A0b', 'holds U+00A0'],
    ['a\u3000b', 'holds U+3000'],
    ['a\u202Eb', 'holds U+202E'],
    ['a，b', 'holds ， (U+FF0C)'],
    ['a"b', 'holds " (U+0022)'],
    ['a/b', 'holds / (U+002F)'],
    ['🤖', 'holds 🤖 (U+1F916)'],
    ['\uD800', 'holds U+D800'],
  ])('refuses %j and names the character', (name, part) => {
    expect(agentNameFault(name)).toContain(part)
  })

  it('refuses a name that is not NFC, and writes the one that is', () => {
    expect(agentNameFault('e\u0301')).toContain('write "\u00E9"')
  })

  it('refuses a combining mark that has no letter', () => {
    expect(agentNameFault('\u0301a')).toContain('combining mark')
    expect(agentNameFault('a \u0301')).toContain('combining mark')
  })
})

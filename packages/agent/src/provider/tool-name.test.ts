import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  toolNameAtProvider,
  toolNameCollision,
  toolNameFromProvider,
  toolNamesFromProvider,
} from './tool-name.ts'

const accepted = /^[a-zA-Z0-9_-]{1,64}$/
/** Names as they are, as they may become, and anything at all. */
const anyName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 90 }),
  fc.string({ unit: fc.constantFrom('-', '_', ':', 'u', 'h', 'A', '0', '3', 'a', '文'), maxLength: 70 }),
  fc.string({ maxLength: 30 }).map((id) => `workflow:${id}`),
)
const isFine = (name: string): boolean => accepted.test(name)
const isHashed = (name: string): boolean =>
  !isFine(name) && toolNameFromProvider(toolNameAtProvider(name)) !== name

describe('a tool name at a provider (D-13)', () => {
  test.each([
    ['read_file', 'read_file'],
    ['list-files', 'list-files'],
    ['GraphWorkflow', 'GraphWorkflow'],
    ['a--b', 'a--b'],
    ['workflow:summarize_text', 'workflow-_summarize_text'],
    ['workflow:summarize-text', 'workflow-_summarize--text'],
    ['workflow:v1.2', 'workflow-_v1-2E2'],
    ['workflow:摘要', 'workflow-_-u6458-u8981'],
    ['', '-h47DEQpj8HBSa-_TImW-5JC'],
  ])('%j is %j', (name, encoded) => expect(toolNameAtProvider(name)).toBe(encoded))

  it('is one a provider takes, whatever the tool is called', () => {
    fc.assert(
      fc.property(anyName, (name) => accepted.test(toolNameAtProvider(name))),
      { numRuns: 5_000 },
    )
  })

  it('stays as it is when it is fine as it is', () => {
    fc.assert(
      fc.property(fc.stringMatching(accepted), (name) => toolNameAtProvider(name) === name),
      { numRuns: 2_000 },
    )
  })

  it('leads back to the tool by its spelling alone, unless it had to be cut', () => {
    const short = anyName.filter(
      (name) => !isFine(name) && name !== '' && name.replace(/[^a-zA-Z0-9_]/g, '-uFFFF').length <= 64,
    )
    fc.assert(
      fc.property(short, (name) => toolNameFromProvider(toolNameAtProvider(name)) === name),
      { numRuns: 5_000 },
    )
  })

  it('is decoded only from what is an encoding: any other name is itself', () => {
    fc.assert(
      fc.property(fc.stringMatching(accepted), (name) => {
        const decoded = toolNameFromProvider(name)
        return decoded === name || toolNameAtProvider(decoded) === name
      }),
      { numRuns: 5_000 },
    )
    expect(['list-files', 'a--b', 'x-', '-', 'a-_'].map(toolNameFromProvider)).toEqual([
      'list-files',
      'a--b',
      'x-',
      '-',
      'a:',
    ])
  })

  it('differs for different tools of which neither is fine as it is', () => {
    fc.assert(
      fc.property(
        anyName.filter((name) => !isFine(name)),
        anyName.filter((name) => !isFine(name)),
        (one, other) => one === other || toolNameAtProvider(one) !== toolNameAtProvider(other),
      ),
      { numRuns: 5_000 },
    )
  })

  it('of a long id keeps its beginning and is told apart by a hash of all of it', () => {
    const [one, other] = [`workflow:${'long'.repeat(20)}1`, `workflow:${'long'.repeat(20)}2`]
    expect(toolNameAtProvider(one)).toMatch(/^workflow-_longlong.*-h.{22}$/)
    expect(toolNameAtProvider(one)).toHaveLength(64)
    expect(toolNameAtProvider(one)).not.toBe(toolNameAtProvider(other))
    expect(isHashed(one)).toBe(true)
  })
})

describe('the names of a request', () => {
  it('lead back to every offered tool, also those that were cut, and to known spellings besides', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 8 }), (names) => {
        fc.pre(toolNameCollision(names) === null)
        const decode = toolNamesFromProvider(names.map((name) => ({ name })))
        expect(names.map((name) => decode(toolNameAtProvider(name)))).toEqual(names)
      }),
      { numRuns: 2_000 },
    )
    expect(toolNamesFromProvider([])('workflow-_x')).toBe('workflow:x')
  })

  it('that a tool has as its own name is that tool', () => {
    expect(toolNamesFromProvider([{ name: 'workflow-_x' }])('workflow-_x')).toBe('workflow-_x')
  })
})

describe('a collision', () => {
  it('is found between a name and the encoding of another, and names both', () => {
    expect(toolNameCollision(['read_file', 'workflow:x', 'workflow-_x'])).toEqual([
      'workflow:x',
      'workflow-_x',
    ])
  })

  it('is not the same tool twice, nor names that only look alike', () => {
    expect(
      toolNameCollision(['workflow:x', 'workflow:x', 'workflow:X', 'workflow:x ', 'x', 'workflow--x']),
    ).toBeNull()
  })

  it('is found exactly when two tools would have one name', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 6 }), fc.boolean(), (some, withEncodings) => {
        const names = [...new Set(withEncodings ? [...some, ...some.map(toolNameAtProvider)] : some)]
        const distinct = new Set(names.map(toolNameAtProvider)).size === names.length
        return (toolNameCollision(names) === null) === distinct
      }),
      { numRuns: 2_000 },
    )
  })

  // https://github.com/ollama/ollama/issues/12132
  it.each([
    'functions.read_file',
    'read_file<|channel|>commentary',
    ' read_file ',
    'functions.read_file<|channel|>analysis',
  ])('%j means the tool', (name) => {
    expect(toolNamesFromProvider([{ name: 'read_file' }])(name)).toBe('read_file')
  })

  it('that has such a part itself keeps it', () => {
    expect(toolNamesFromProvider([{ name: 'read_file' }])('functions.other')).toBe('functions.other')
  })
})

// Splits a SKILL.md into the fields of its front matter and its body. Pure. Only YAML between two lines "---"
// is read. Nothing is executed, whatever the tags say. The input is bounded in bytes, aliases and depth. For
// input that cannot be read, there is one reason for a person.
import { createRequire } from 'node:module'
import { messageOf } from '@beaver/core'
import type * as Yaml from 'yaml'

export const skillBytesMax = 1024 * 1024
/** The time to read YAML grows with the square of the number of its keys. */
const frontMatterCharsMax = 16 * 1024
const aliasesMax = 20

/**
 * It has 72 modules. It is loaded with the first front matter, because worker threads read none
 * (docs/decisions/0029).
 */
const yamlLibrary = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml

export interface SkillText {
  readonly fields: Readonly<Record<string, unknown>>
  readonly body: string
  /** What is wrong with the front matter although it could be read. */
  readonly warnings: readonly string[]
}

export type FrontMatterRead =
  | ({ readonly ok: true } & SkillText)
  | { readonly ok: false; readonly reason: string }

export function readFrontMatter(bytes: Uint8Array): FrontMatterRead {
  if (bytes.length > skillBytesMax)
    return refused(`It has ${bytes.length} bytes. Beaver reads at most ${skillBytesMax}.`)
  const warnings: string[] = []
  const text = textOf(bytes, warnings)
  const split = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(text)
  if (split === null) return refused(whyNone(text))
  const yaml = split[1] ?? ''
  if (yaml.length > frontMatterCharsMax)
    return refused(
      `Its front matter has ${yaml.length} characters. Beaver reads at most ${frontMatterCharsMax}.`,
    )
  const read = readYaml(yaml, warnings)
  return read.ok ? { ok: true, fields: read.fields, body: text.slice(split[0].length), warnings } : read
}

function textOf(bytes: Uint8Array, warnings: string[]): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    warnings.push('It contains bytes that are not UTF-8. Beaver reads them as U+FFFD.')
  }
  return text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
}

function whyNone(text: string): string {
  const first = (/^[^\n]{0,200}/.exec(text)?.[0] ?? '').trim()
  const marked = /^(?:---|;;;|\+\+\+)[ \t]*([\w.+-]*)$/.exec(first)
  if (marked !== null && first !== '---')
    return `Its front matter begins with ${JSON.stringify(first)}. Only YAML between two lines "---" is read; nothing else, and nothing is executed.`
  if (first === '---') return 'Its front matter is not closed: a line "---" must end it.'
  return 'It does not begin with YAML front matter between two lines "---".'
}

function readYaml(
  yaml: string,
  warnings: string[],
):
  | { readonly ok: true; readonly fields: Record<string, unknown> }
  | { readonly ok: false; readonly reason: string } {
  let value: unknown
  try {
    value = parse(yaml)
  } catch (error) {
    const quoted = withQuotes(yaml)
    try {
      if (quoted === yaml) throw error
      value = parse(quoted)
      warnings.push(
        `Its front matter is not valid YAML: ${whatOf(error)}. Beaver read it as if the value were in quotes.`,
      )
    } catch {
      return refused(`Its front matter cannot be read: ${whatOf(error)}.`)
    }
  }
  if (value === null || value === undefined) return { ok: true, fields: {} }
  if (typeof value !== 'object' || Array.isArray(value))
    return refused('Its front matter cannot be read: it must contain fields, such as "description: …".')
  return { ok: true, fields: value as Record<string, unknown> }
}

/** An empty text is no document. Unknown tags are texts. */
const parse = (yaml: string): unknown =>
  yaml.trim() === '' ? null : yamlLibrary().parse(yaml, { maxAliasCount: aliasesMax, logLevel: 'error' })

/**
 * Adds quotes around the values of top-level lines that contain ": ". Skills written for other hosts often
 * lack these quotes.
 */
function withQuotes(yaml: string): string {
  return yaml.replaceAll(
    /^([\w-]+):[ \t]+([^\n"'|>[{&*!#][^\n]*:(?:[ \t][^\n]*)?)$/gm,
    (_, key: string, value: string) => `${key}: ${JSON.stringify(value.trim())}`,
  )
}

/**
 * What is wrong, for a person. The parser has a code for most faults. It has none for too many aliases, and
 * one code for two kinds of misplaced blocks. Only these are told apart by the parser's words.
 */
function whatOf(error: unknown): string {
  if (!(error instanceof yamlLibrary().YAMLParseError)) {
    const message = messageOf(error)
    return message.includes('alias count') ? `it uses aliases more than ${aliasesMax} times` : plain(message)
  }
  if (error.code === 'RESOURCE_EXHAUSTION') return 'it is nested too deeply'
  const line = error.linePos?.[0].line
  // The mark is the first line of the file, so it is added to the count.
  const where = line === undefined ? '' : ` (line ${line + 1})`
  if (error.code === 'BLOCK_AS_IMPLICIT_KEY' && error.message.startsWith('Nested mappings'))
    return `a value that contains ": " must be in quotes${where}`
  if (error.code === 'DUPLICATE_KEY') return `it has a field twice${where}`
  return `${plain(error.message)}${where}`
}

/** The first line of a message, without its place and its end mark. */
const plain = (message: string): string =>
  (message.split('\n')[0] ?? '')
    .replace(/ at line \d+, column \d+:?$/, '')
    .replace(/[.:]$/, '')
    .slice(0, 200)

function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason }
}

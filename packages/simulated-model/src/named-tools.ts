// Finds the tools that a text tells its reader to call, and their arguments.
import { parseJson } from './conversation.ts'

export interface NamedTool {
  readonly name: string
  /** The JSON objects after its name, each once. */
  readonly examples: readonly Record<string, unknown>[]
}

/** The tools that a text names in backticks, in the order of the text. */
export function namedTools(text: string): NamedTool[] {
  const found = new Map<string, Map<string, Record<string, unknown>>>()
  for (const match of text.matchAll(/`([\w:-]{1,128})`/g)) {
    const name = match[1] ?? ''
    const examples = found.get(name) ?? new Map<string, Record<string, unknown>>()
    found.set(name, examples)
    for (const example of examplesAfter(text.slice(match.index + match[0].length)))
      examples.set(JSON.stringify(example), example)
  }
  return [...found].map(([name, examples]) => ({ name, examples: [...examples.values()] }))
}

/** The JSON objects directly after a tool's name: `list_files` with {"path": "."} and {"path": "docs"} */
export function examplesAfter(after: string): Record<string, unknown>[] {
  const examples: Record<string, unknown>[] = []
  let rest = after
  for (;;) {
    const [lead] =
      /^`?[\s:,;(（，、]*(?:(?:with|using|and|then|or)\b|和|及|用|参数)?[\s:(：（]*`?(?=\{)/.exec(rest) ?? []
    const object = lead === undefined ? null : objectAt(rest, lead.length)
    if (object === null) return examples
    examples.push(object.value)
    rest = rest.slice(object.end)
  }
}

const charsMax = 4_000

function objectAt(text: string, start: number): { value: Record<string, unknown>; end: number } | null {
  for (
    let end = text.indexOf('}', start);
    end !== -1 && end < start + charsMax;
    end = text.indexOf('}', end + 1)
  ) {
    const value = parseJson(text.slice(start, end + 1))
    if (typeof value === 'object' && value !== null)
      return { value: value as Record<string, unknown>, end: end + 1 }
  }
  return null
}
